// freetoken(1) in man's own language, made from the tables of commands and settings.
#pragma once

#include <string>

namespace ft::cli {

std::string man_page();

}  // namespace ft::cli
