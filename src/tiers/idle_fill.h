// Free slots are filled while nothing is asked for: a thread reads what ExpertCache::warm() named, from the
// end of loading until the first step, which does not wait for it. Somebody who types, or a server between
// its start and its first request, so gives the first prompt a cache that is full.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "tiers/expert_cache.h"

namespace ft {

class IdleFill {
 public:
    // The cache must outlive this; until stop() nobody else may use it but through stats(). Where the system
    // has no thread for it, nothing is filled.
    explicit IdleFill(ExpertCache& cache);
    ~IdleFill() { stop(); }
    IdleFill(const IdleFill&) = delete;
    IdleFill& operator=(const IdleFill&) = delete;

    // From now on the cache is the caller's alone. What is being read arrives as guesses do. Any number of
    // times.
    void stop();
    // Waits so long for all slots to be filled; whether they are, or stop() ended it.
    bool done_within(Seconds most);
    CacheStats stats() const;

 private:
    void run();

    ExpertCache& cache_;
    mutable std::mutex mutex_;  // guards the cache while the thread runs, and the two below
    std::condition_variable changed_;
    bool stop_ = false, over_ = false;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace ft
