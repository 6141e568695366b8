// What a file is that does not begin with the GGUF magic, so that the refusal can say what to do.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace ft {

// beginning: the file's first bytes, as many of 64 as there are.
Error not_gguf(const std::string& path, std::string_view beginning);

}  // namespace ft
