// Ctrl-C as a flag that the token loop looks at, so that it ends an answer and not the program.
#pragma once

#include <atomic>

namespace ft::cli {

// From here on SIGINT sets the flag; until then it ends the process as usual. System calls are interrupted by
// it.
void catch_interrupts();

const std::atomic<bool>& interrupted();
void clear_interrupt();

constexpr int k_exit_interrupted = 130;  // 128 + SIGINT, as shells have it

}  // namespace ft::cli
