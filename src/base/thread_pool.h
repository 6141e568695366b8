// Threads that draw the chunks of one loop from a counter.
//
// A run is over when its chunks are done, not when every worker has arrived: a worker that the system does
// not schedule delays the one chunk it holds, or nothing. Between runs workers spin for some microseconds,
// then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace ft {

class ThreadPool {
 public:
    using Chunk = FunctionRef<void(int chunk, int worker)>;

    // n_threads >= 1 counts the caller of run(): n_threads - 1 threads are started. Workers compute in the
    // mode of set_exact_float_mode(), which the constructing thread is given as well.
    explicit ThreadPool(int n_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }

    // Calls fn(chunk, worker) once for every chunk in [0, n_chunk), drawn in rising order, worker in [0,
    // size()); the caller takes part as worker 0. Returns when all calls have returned; what they wrote is
    // then visible to the caller. Allocates nothing. One run at a time; fn neither throws nor calls run().
    void run(int n_chunk, Chunk fn);

 private:
    void work(int worker);
    void draw_chunks(int worker);
    bool wait_for_chunks();
    void wait_for_last_chunk(uint32_t n_chunk);

    // Upper half: number of the run. Lower half: chunks of it that nobody has drawn yet. A chunk is drawn by
    // exchanging the whole word, so that a worker that was stopped between reading it and drawing cannot take
    // a chunk of a later run for one of the run it saw (the run numbers would have to go round while it
    // sleeps).
    alignas(64) std::atomic<uint64_t> open_{0};
    // Of the run in open_. Read before drawing, and only believed once drawing has succeeded.
    std::atomic<uint32_t> n_chunk_{0};
    std::atomic<const Chunk*> fn_{nullptr};
    alignas(64) std::atomic<uint32_t> done_{0};    // chunks of this run that have returned
    alignas(64) std::atomic<uint32_t> signal_{0};  // changes when there is something to wake up for
    std::atomic<bool> stop_{false};
    std::atomic<bool> running_{false};
    std::vector<std::thread> threads_;
};

}  // namespace ft
