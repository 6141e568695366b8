// Sizes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace ft {

// "17.30 GiB", "870 MiB", "12 KiB"; below ten of MiB or KiB, where sizes of experts lie, two decimals too;
// the exact number below 1 KiB.
std::string size_text(uint64_t bytes);

// The same of what is needed at least: never less than it is.
std::string size_text_up(uint64_t bytes);

}  // namespace ft
