#include "base/thread_pool.h"

#include <chrono>
#include <system_error>

#include "base/check.h"
#include "base/cpu_pause.h"
#include "base/float_mode.h"
#include "base/log.h"

namespace ft {
namespace {

// Waking a sleeping thread costs 5-50 us. A decode step has a few hundred runs with a few us of serial work
// in between, so workers spin across such gaps and sleep in longer ones.
constexpr auto k_worker_spin = std::chrono::microseconds(60);
// The caller sleeps sooner: where a straggler was descheduled, an idle processor is what lets the system move
// it.
constexpr auto k_caller_spin = std::chrono::microseconds(40);
constexpr int k_pauses_per_look_at_the_clock = 16;

uint32_t n_open(uint64_t word) { return static_cast<uint32_t>(word); }

// Spins until ready() or the time is over; the last value of ready().
template <class Ready>
bool spin(std::chrono::microseconds most, Ready ready) {
    const auto end = std::chrono::steady_clock::now() + most;
    do {
        for (int i = 0; i < k_pauses_per_look_at_the_clock; ++i) {
            if (ready()) return true;
            cpu_pause();
        }
    } while (std::chrono::steady_clock::now() < end);
    return ready();
}

}  // namespace

ThreadPool::ThreadPool(int n_threads) {
    check(n_threads >= 1, "a thread pool has at least one thread");
    set_exact_float_mode();
    threads_.reserve(static_cast<size_t>(n_threads) - 1);
    for (int worker = 1; worker < n_threads; ++worker)
        // Fewer threads than wished compute more slowly; the bits are the same.
        try {
            threads_.emplace_back([this, worker] { work(worker); });
        } catch (const std::system_error&) {
            log("warn", "the system gives {} of the {} threads asked for", worker, n_threads);
            break;
        }
}

ThreadPool::~ThreadPool() {
    stop_.store(true);
    signal_.fetch_add(1);
    signal_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(int n_chunk, Chunk fn) {
    if (threads_.empty() || n_chunk <= 1) {
        for (int chunk = 0; chunk < n_chunk; ++chunk) fn(chunk, 0);
        return;
    }
    check(!running_.exchange(true, std::memory_order_acquire), "one run of a thread pool at a time");
    const auto n = static_cast<uint32_t>(n_chunk);
    // No chunk is open and all that were drawn are done, so nobody reads these for the run before.
    n_chunk_.store(n, std::memory_order_relaxed);
    fn_.store(&fn, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    const uint64_t run = (open_.load(std::memory_order_relaxed) >> 32) + 1;
    open_.store(run << 32 | n, std::memory_order_release);
    signal_.fetch_add(1);
    signal_.notify_all();  // no system call where nobody sleeps
    draw_chunks(0);
    wait_for_last_chunk(n);
    running_.store(false, std::memory_order_release);
}

void ThreadPool::draw_chunks(int worker) {
    uint64_t seen = open_.load(std::memory_order_acquire);
    while (n_open(seen) > 0) {
        // If a later run begins between the two loads and the exchange, these are that run's, and the
        // exchange fails.
        const uint32_t n = n_chunk_.load(std::memory_order_relaxed);
        const Chunk* const fn = fn_.load(std::memory_order_relaxed);
        if (!open_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire))
            continue;
        (*fn)(static_cast<int>(n - n_open(seen)), worker);
        // From the last increment on the run may be over and fn gone.
        if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == n) done_.notify_one();
        seen = open_.load(std::memory_order_acquire);
    }
}

void ThreadPool::wait_for_last_chunk(uint32_t n_chunk) {
    const auto all_done = [&] { return done_.load(std::memory_order_acquire) == n_chunk; };
    if (spin(k_caller_spin, all_done)) return;
    for (uint32_t done = done_.load(std::memory_order_acquire); done != n_chunk;
         done = done_.load(std::memory_order_acquire))
        done_.wait(done, std::memory_order_acquire);
}

bool ThreadPool::wait_for_chunks() {
    const auto awaited = [&] {
        return n_open(open_.load(std::memory_order_acquire)) > 0 || stop_.load(std::memory_order_acquire);
    };
    if (!spin(k_worker_spin, awaited)) {
        // signal_ is read before looking once more, so a change after the look ends the wait at once.
        for (uint32_t signal = signal_.load(); !awaited(); signal = signal_.load()) signal_.wait(signal);
    }
    return !stop_.load(std::memory_order_acquire);
}

void ThreadPool::work(int worker) {
    set_exact_float_mode();
    while (wait_for_chunks()) draw_chunks(worker);
}

}  // namespace ft
