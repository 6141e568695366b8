// What the system said when a call failed, as an Error: one table of remedies for the whole program.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace ft {

// The path as it stands in messages: control characters escaped, an endless name shortened.
std::string path_text(const std::string& path);

// A failed system call on `path`: "PATH: cannot VERB: REASON", with a remedy where one is known.
Error system_error(const std::string& path, std::string_view verb, int error_number);

// The two halves of it, for a thing that has no path.
std::string system_reason(int error_number);
std::string_view system_remedy(int error_number);  // "" where none is known

// What helps where the system gives no thread. It does not say what it is short of: processes, or room for
// the thread's stack, which a limit on address space makes scarce.
std::string thread_remedy();

}  // namespace ft
