#include "cli/interrupt.h"

#include <csignal>

namespace ft::cli {

namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch only a lock-free flag");

void on_interrupt(int) { g_interrupted.store(true, std::memory_order_relaxed); }

}  // namespace

void catch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    action.sa_flags = 0;  // no SA_RESTART: a read that waits for the user returns
    sigaction(SIGINT, &action, nullptr);
}

const std::atomic<bool>& interrupted() { return g_interrupted; }
void clear_interrupt() { g_interrupted.store(false, std::memory_order_relaxed); }

}  // namespace ft::cli
