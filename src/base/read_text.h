// Small inputs read whole: settings, templates, ids, texts. They may come from a file, a device, or a pipe
// that somebody writes to; whatever it is, opening it never blocks and reading it has a limit.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace ft {

// All of it. Errors name the path: a folder, a pipe that nobody writes to, more than `most_bytes`
// (Code::too_large), what the system refuses.
Expected<std::string> read_text(const std::string& path, uint64_t most_bytes);

// The same of a file that this program keeps in a folder: only a regular one counts (a link may lead to it),
// so that neither a pipe nor a device in its place is waited for or read without end.
Expected<std::string> read_kept_text(const std::string& path, uint64_t most_bytes);

// read(2) that waits where the descriptor does not block, and goes on after a signal.
ssize_t read_waiting(int fd, void* to, size_t bytes);

}  // namespace ft
