// How fast a program writes, for whoever looks at it now and then: tokens by the time that their steps took,
// over the last minute. Pauses between answers do not count.
#pragma once

#include <cstdint>
#include <deque>

#include "base/clock.h"

namespace ft::cli {

class TokenRate {
 public:
    // Once a second, also where there was nothing: tokens that were generated, and the time of their steps.
    void add(uint64_t tokens, Seconds generating);
    double per_second() const;  // 0: nothing was generated

 private:
    struct Second {
        uint64_t tokens;
        Seconds generating;
    };
    std::deque<Second> seconds_;  // the newest last
};

}  // namespace ft::cli
