// A name by which `top -H`, debuggers and benchmarks tell the threads of a process apart.
#pragma once

#include <pthread.h>

namespace ft {

// At most 15 letters; threads that this one starts have it too, until they take another.
inline void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace ft
