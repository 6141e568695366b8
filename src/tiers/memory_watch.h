// When the slots of experts give RAM back because other programs took it, and when they take it again.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace ft {

// RAM that others are to keep: 30 % of all, and no more than half of what the plan leaves over (a budget that
// the user set may leave less); at least 1/128 of all, below which a system begins to thrash.
uint64_t memory_margin(uint64_t total, uint64_t left_over);

class MemoryWatch {
 public:
    // Readings are taken at most every `between` seconds.
    explicit MemoryWatch(uint64_t margin, Seconds between = 0.5) : margin_(margin), between_(between) {}

    uint64_t margin() const { return margin_; }
    bool is_due(Seconds now) const { return now >= next_; }

    // A reading: `available` bytes could still be taken by anyone, `given` were given back so far. Returns
    // the bytes to give back now (negative), or to take again (positive). It gives back at once and a little
    // more than needed; it takes again after some calm seconds and leaves a quarter more than the margin, so
    // that what it takes does not make it give back.
    int64_t change(Seconds now, uint64_t available, uint64_t given);

 private:
    uint64_t margin_;
    Seconds between_;
    Seconds next_ = 0;
    Seconds calm_since_ = -1;  // -1: memory is short
};

}  // namespace ft
