// Monotonic time, replaceable where a test wants to decide it.
#pragma once

#include <chrono>

namespace ft {

using Seconds = double;

inline Seconds now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace ft
