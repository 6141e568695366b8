#include "io/thread_queue.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/fifo.h"

namespace ft {

namespace {

// Drives reach their rate with some reads of half a megabyte in flight; threads that wait cost nothing.
constexpr int k_threads = 16;

class ThreadQueue final : public ReadQueue {
 public:
    ThreadQueue() {
        waiting_.reserve(k_most_in_flight);
        done_.reserve(k_most_in_flight);
    }
    ~ThreadQueue() override {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        work_.notify_all();
    }

    // How many threads could be started.
    int start() {
        try {
            for (int i = 0; i < k_threads; i++) threads_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            // fewer threads read more slowly
        }
        return static_cast<int>(threads_.size());
    }

    void submit(std::span<const Read> reads) override {
        {
            const std::lock_guard lock(mutex_);
            for (const Read& read : reads) waiting_.push(read);
        }
        in_flight_ += reads.size();
        check(in_flight_ <= k_most_in_flight, "more reads in flight than a queue takes");
        for (size_t i = 0; i < reads.size(); i++) work_.notify_one();
    }

    void collect(std::vector<ReadDone>& done, bool wait) override {
        std::unique_lock lock(mutex_);
        if (wait && in_flight_ > 0) over_.wait(lock, [&] { return !done_.empty(); });
        in_flight_ -= done_.size();
        done.insert(done.end(), std::make_move_iterator(done_.begin()), std::make_move_iterator(done_.end()));
        done_.clear();
    }

    std::string_view method() const override { return "threads"; }

 private:
    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            work_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
            if (closing_) return;
            const Read read = waiting_.front();
            waiting_.pop();
            lock.unlock();
            Status status = read.file->read_blocks(read.offset, read.to);
            lock.lock();
            done_.push_back({read.tag, std::move(status), read.to.size()});
            over_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable work_, over_;
    bool closing_ = false;  // these three: under mutex_
    Fifo<Read> waiting_;
    std::vector<ReadDone> done_;
    std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace

Expected<std::unique_ptr<ReadQueue>> open_thread_queue() {
    auto queue = std::make_unique<ThreadQueue>();
    if (queue->start() == 0) return Error{Code::io, "cannot start a thread to read with", thread_remedy()};
    return std::unique_ptr<ReadQueue>(std::move(queue));
}

}  // namespace ft
