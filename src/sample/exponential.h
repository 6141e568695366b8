// e^x for x <= 0 in double precision, from additions and multiplications alone, so that a probability has the
// same bits with every C library and on every CPU.
#pragma once

#include <bit>
#include <cstdint>

namespace ft {

// Relative error under 1e-15. x below -700 gives 0: such a token is never drawn.
//   x = n ln 2 + r with |r| <= ln(2) / 2;   e^x = 2^n e^r, e^r by its Taylor series to r^13 (remainder under
//   1e-17).
inline double exp_of_negative(double x) {
    constexpr double k_log2e = 1.4426950408889634;
    constexpr double k_ln2_high = 0x1.62e42fefa3800p-1;  // n * k_ln2_high is exact for |n| < 2^11
    constexpr double k_ln2_low = 0x1.ef35793c76730p-45;
    constexpr double k_round = 0x1.8p52;           // adding and subtracting it rounds to an integer
    const double shifted = x * k_log2e + k_round;  // its low bits are n
    const double n = shifted - k_round;
    const double r = (x - n * k_ln2_high) - n * k_ln2_low;
    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);
    return x >= -700 ? sum * power : 0.0;  // also for NaN
}

}  // namespace ft
