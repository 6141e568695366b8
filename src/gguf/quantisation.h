// The name under which users know how a file is quantised: "Q4_K_M".
#pragma once

#include <string>

#include "gguf/gguf.h"

namespace ft {

// general.file_type where it agrees with the tensors, which decide; else "mostly Q4_K", or the one type there
// is.
// "" for a file without weights.
std::string quantisation_name(const Gguf& gguf);

}  // namespace ft
