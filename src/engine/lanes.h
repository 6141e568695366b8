// Which of two lanes may start its next request. Interactive requests have slots of their own and may take
// free ones of the batch lane; the batch lane keeps at least one.
#pragma once

#include <array>
#include <optional>

#include "engine/request.h"

namespace ft {

struct LaneLimits {
    int batch_size = 4;         // sequences that run at once, of both lanes
    int interactive_slots = 2;  // of these, for the interactive lane alone; less than batch_size
};

struct LaneCount {
    int waiting = 0;
    int running = 0;
};

class Lanes {
 public:
    explicit Lanes(const LaneLimits& limits) : limits_(limits) {}

    LaneCount& of(Lane lane) { return counts_[index(lane)]; }
    const LaneCount& of(Lane lane) const { return counts_[index(lane)]; }
    int running() const { return counts_[0].running + counts_[1].running; }
    int waiting() const { return counts_[0].waiting + counts_[1].waiting; }

    // The lane whose first waiting request is next; nothing where no slot is free for any. Where both wait,
    // a lane that has fewer running than its own slots comes first, the interactive one before the other.
    std::optional<Lane> next() const;

    // The first request of `blocked` has a slot, but no memory yet. True: the other lane, if it has a slot,
    // may start one before it; after a few such times nobody passes any more, so that memory gathers.
    bool may_pass(Lane blocked) const;

    // Waiting becomes running; `passed`: the lane whose first request it went before.
    void start(Lane lane, std::optional<Lane> passed);

 private:
    static size_t index(Lane lane) { return static_cast<size_t>(lane); }
    bool has_slot(Lane lane) const;

    LaneLimits limits_;
    std::array<LaneCount, 2> counts_;
    std::array<int, 2> passed_ = {0, 0};  // how often the first request of each was passed
};

constexpr Lane other(Lane lane) { return lane == Lane::interactive ? Lane::batch : Lane::interactive; }

}  // namespace ft
