// Sizes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace ft::cli {

// "17.3 GiB", "870 MiB": three digits that matter, or the exact number below 1 KiB.
std::string size_text(uint64_t bytes);

// The same of what is needed at least: never less than it is.
std::string size_text_up(uint64_t bytes);

}  // namespace ft::cli
