#include "tiers/idle_fill.h"

#include <chrono>
#include <system_error>

#include "base/signals_blocked.h"
#include "base/thread_name.h"

namespace ft {

namespace {

// Between two looks at what was read: an eighth of the time in which what is under way is read.
constexpr std::chrono::milliseconds k_between_looks{1};

}  // namespace

IdleFill::IdleFill(ExpertCache& cache) : cache_(cache) {
    const SignalsBlocked blocked;
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        over_ = true;  // no thread: slots are filled as experts are asked for
    }
}

void IdleFill::run() {
    name_this_thread("slot-fill");
    std::unique_lock lock(mutex_);
    while (!stop_ && cache_.fill()) changed_.wait_for(lock, k_between_looks, [&] { return stop_; });
    over_ = true;
    changed_.notify_all();
}

void IdleFill::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

bool IdleFill::done_within(Seconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(most), [&] { return over_; });
}

CacheStats IdleFill::stats() const {
    const std::lock_guard lock(mutex_);
    return cache_.stats();
}

}  // namespace ft
