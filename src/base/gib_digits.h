// Amounts of memory in GiB, written so that a reader sees the difference that decides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/bytes.h"

namespace ft {

constexpr int k_most_gib_digits = 9;  // about one byte

// Digits after the point with which two different amounts in GiB read differently: two, or as many more as
// that takes.
inline int gib_digits(uint64_t a, uint64_t b) {
    const auto written = [](uint64_t bytes, int digits) {
        return std::llround(gib(bytes) * std::pow(10, digits));
    };
    int digits = 2;
    while (digits < k_most_gib_digits && a != b && written(a, digits) == written(b, digits)) digits++;
    return digits;
}

// With so many digits after the point, so that a budget works when it is given back as it is written.
inline double gib_rounded_up(uint64_t bytes, int digits = 2) {
    const double scale = std::pow(10, digits);
    return std::ceil(gib(bytes) * scale) / scale;
}

// `bytes` in GiB with two digits after the point, rounded down, but never below `least`: a budget that works
// when it is given back. More digits where two do not reach.
inline double gib_rounded_down(uint64_t bytes, uint64_t least) {
    for (int digits = 2; digits < k_most_gib_digits; digits++) {
        const double scale = std::pow(10, digits);
        const double value = std::floor(gib(bytes) * scale) / scale;
        if (value >= gib(least)) return value;
    }
    return gib(std::max(bytes, least));
}

}  // namespace ft
