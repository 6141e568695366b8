// A few threads for what takes longer than a connection may be kept waiting: reading bodies, templates, ids.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ft {

// The queue is bounded by who fills it: a connection has one request under way.
class WorkThreads {
 public:
    // Up to n threads, as many as the system gives. Throws std::system_error where it gives none.
    explicit WorkThreads(int n);
    ~WorkThreads();  // what has begun is finished, what waits is dropped

    void push(std::function<void()> job);  // any thread
    void stop();
    size_t size() const { return threads_.size(); }

 private:
    void work();

    std::mutex mutex_;  // guards jobs_ and stop_
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    bool stop_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace ft
