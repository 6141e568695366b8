// Whether a process whose number stands in a file's name still lives.
#pragma once

#include <signal.h>

#include <cerrno>

namespace ft {

// No process has this number. One that may not be asked lives.
inline bool process_is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace ft
