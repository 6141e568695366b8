// The two faces of `freetoken show`: a table for people, and JSON.
#pragma once

#include <string>

#include "gguf/gguf.h"
#include "gguf/summary.h"

namespace ft::cli {

// Text from the file is escaped where a terminal would obey it.
std::string show_text(const Gguf& gguf, const Summary& summary);
std::string tensor_text(const Gguf& gguf);  // the list of tensors, a line each

// One JSON object; invalid UTF-8 of the file is replaced. Sizes are bytes.
std::string show_json(const Gguf& gguf, const Summary& summary, bool with_tensors);

}  // namespace ft::cli
