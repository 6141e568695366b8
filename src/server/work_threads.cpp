#include "server/work_threads.h"

#include <system_error>

#include "base/thread_name.h"

namespace ft {

WorkThreads::WorkThreads(int n) {
    threads_.reserve(static_cast<size_t>(n));
    try {
        for (int i = 0; i < n; i++) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        // Fewer threads than wished let jobs wait longer; none at all cannot work.
        if (threads_.empty()) throw;
    }
}

WorkThreads::~WorkThreads() { stop(); }

void WorkThreads::push(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
}

void WorkThreads::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    jobs_.clear();
}

void WorkThreads::work() {
    name_this_thread("ft-http-work");
    for (;;) {
        std::function<void()> job;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
            if (stop_) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job();
    }
}

}  // namespace ft
