// Shell completion: commands, their flags, the words that a flag takes, else files. Made from the tables of
// commands and settings.
#pragma once

#include <string>

namespace ft::cli {

std::string bash_completion();
std::string zsh_completion();

}  // namespace ft::cli
