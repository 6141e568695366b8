#include "tiers/memory_watch.h"

#include <algorithm>

#include "base/bytes.h"

namespace ft {

namespace {

constexpr Seconds k_calm = 5;
constexpr uint64_t k_most_beyond = 64 * k_mib;

}  // namespace

uint64_t memory_margin(uint64_t total, uint64_t left_over) {
    return std::max(std::min(total / 10 * 3, left_over / 2), total / 128);
}

int64_t MemoryWatch::change(Seconds now, uint64_t available, uint64_t given) {
    next_ = now + between_;
    const uint64_t roomy = margin_ + margin_ / 4;
    if (available < roomy) calm_since_ = -1;
    else if (calm_since_ < 0) calm_since_ = now;
    if (available < margin_)
        return -static_cast<int64_t>(margin_ - available + std::min(margin_ / 8, k_most_beyond));
    if (given == 0 || calm_since_ < 0 || now - calm_since_ < k_calm) return 0;
    return static_cast<int64_t>(std::min(given, available - roomy));
}

}  // namespace ft
