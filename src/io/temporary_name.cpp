#include "io/temporary_name.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

namespace ft {

namespace {

// Names beyond these are left behind by a signal; a command has two.
std::array<std::atomic<const char*>, 8> g_names;
static_assert(std::atomic<const char*>::is_always_lock_free,
              "a signal handler may touch only lock-free values");

void remove_all_and_end(int signal_number) {
    for (std::atomic<const char*>& name : g_names)
        if (const char* path = name.exchange(nullptr)) ::unlink(path);
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
}

// A handler that somebody else has set, and a signal that is ignored, stay as they are.
void handle_signals() {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before = {};
        if (::sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
        struct sigaction action = {};
        action.sa_handler = remove_all_and_end;
        sigemptyset(&action.sa_mask);
        ::sigaction(number, &action, nullptr);
    }
}

void enter(const char* path) {
    for (std::atomic<const char*>& name : g_names) {
        const char* none = nullptr;
        if (name.compare_exchange_strong(none, path)) return;
    }
}

void leave(const char* path) {
    for (std::atomic<const char*>& name : g_names) {
        const char* mine = path;
        if (name.compare_exchange_strong(mine, nullptr)) return;
    }
}

}  // namespace

TemporaryName::TemporaryName(std::string path) : path_(std::make_unique<const std::string>(std::move(path))) {
    enter(path_->c_str());
    handle_signals();
}

TemporaryName& TemporaryName::operator=(TemporaryName&& other) noexcept {
    remove();
    path_ = std::move(other.path_);
    return *this;
}

void TemporaryName::forget() {
    if (path_) leave(path_->c_str());
    path_.reset();
}

void TemporaryName::remove() {
    if (!path_) return;
    ::unlink(path_->c_str());
    forget();
}

}  // namespace ft
