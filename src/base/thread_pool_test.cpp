#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "base/float_mode.h"

namespace ft {
namespace {

TEST(ThreadPool, EveryChunkRunsOnceAndResultsAreVisible) {
    for (const int n_threads : {1, 2, 3, 8}) {
        ThreadPool pool(n_threads);
        EXPECT_EQ(pool.size(), n_threads);
        for (const int n_chunk : {0, 1, 2, 7, 64, 1000}) {
            std::vector<int> calls(static_cast<size_t>(n_chunk), 0);
            std::atomic<bool> workers_in_range = true;
            pool.run(n_chunk, [&](int chunk, int worker) {
                calls[static_cast<size_t>(chunk)] += 1;
                if (worker < 0 || worker >= n_threads) workers_in_range = false;
            });
            EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(n_chunk), 1));
            EXPECT_TRUE(workers_in_range);
        }
    }
}

// Short runs back to back, more threads than processors: workers fall behind and wake up in the middle of
// later runs. The data of each run dies with it, so under the sanitizers a late worker that touches a
// finished run is seen; without them a chunk of the wrong run shows in the sums.
TEST(ThreadPool, LateWorkersNeverTouchAFinishedRun) {
    ThreadPool pool(6);
    for (int run = 0; run < 20000; ++run) {
        const int n_chunk = 2 + run % 5;
        auto sums = std::make_unique<std::atomic<int>[]>(static_cast<size_t>(n_chunk));
        pool.run(n_chunk, [&sums, run](int chunk, int) { sums[static_cast<size_t>(chunk)] += run + chunk; });
        for (int chunk = 0; chunk < n_chunk; ++chunk)
            ASSERT_EQ(sums[static_cast<size_t>(chunk)].load(), run + chunk) << "run " << run;
    }
}

TEST(ThreadPool, ChunksRunAtTheSameTime) {
    ThreadPool pool(2);
    std::mutex mutex;
    std::condition_variable changed;
    int inside = 0;
    bool met = false;
    pool.run(2, [&](int, int) {
        std::unique_lock lock(mutex);
        ++inside;
        changed.notify_all();
        if (changed.wait_for(lock, std::chrono::seconds(20), [&] { return inside == 2; })) met = true;
    });
    EXPECT_TRUE(met) << "the second thread never took a chunk";
}

TEST(ThreadPool, WorkersWakeAfterALongPauseAndTheCallerOutwaitsAStraggler) {
    ThreadPool pool(2);
    for (int round = 0; round < 3; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than workers spin
        std::atomic<int> done = 0;
        pool.run(2, [&](int chunk, int) {
            std::this_thread::sleep_for(
                std::chrono::milliseconds(chunk == 0 ? 0 : 3));  // longer than the caller spins
            ++done;
        });
        EXPECT_EQ(done.load(), 2);
    }
}

TEST(ThreadPool, WorkersKeepSubnormals) {
    ASSERT_EQ(std::fesetround(FE_UPWARD), 0);  // threads inherit the mode of the one that starts them
    EXPECT_FALSE(exact_float_mode());
    ThreadPool pool(3);
    std::atomic<int> exact = 0;
    pool.run(64, [&](int, int) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        exact += exact_float_mode() ? 1 : 0;
    });
    EXPECT_EQ(exact.load(), 64);
}

#if defined(__x86_64__)
TEST(FloatMode, FlushingToZeroIsSeenAndUndone) {
    const unsigned before = __builtin_ia32_stmxcsr();
    for (const unsigned flag : {0x8000u, 0x0040u}) {  // FTZ, DAZ
        __builtin_ia32_ldmxcsr(before | flag);
        EXPECT_FALSE(exact_float_mode());
        set_exact_float_mode();
        EXPECT_TRUE(exact_float_mode());
    }
    __builtin_ia32_ldmxcsr(before);
}
#endif

TEST(FunctionRef, CallsWhatItViews) {
    int total = 0;
    auto add = [&](int n) { total += n; };
    const FunctionRef<void(int)> view = add;
    const FunctionRef<void(int)> copy = view;
    copy(3);
    view(4);
    EXPECT_EQ(total, 7);
}

}  // namespace
}  // namespace ft
