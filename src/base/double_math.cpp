#include "base/double_math.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace ft {

namespace {

// ln 2 and pi / 2 as a leading part whose product with a small integer is exact, and the rest.
constexpr double k_ln2_high = 0x1.62e42fee00000p-1;
constexpr double k_ln2_low = 0x1.a39ef35793c76p-33;
constexpr double k_half_pi_high = 0x1.921fb54400000p+0;
constexpr double k_half_pi_low = 0x1.0b4611a626331p-34;
constexpr double k_two_over_pi = 0x1.45f306dc9c883p-1;
constexpr double k_exp_most = 709.4, k_exp_least = -708.0;  // between them 2^n is a normal number
constexpr double k_log2_e = 0x1.71547652b82fep+0;

int64_t nearest(double x) { return static_cast<int64_t>(x < 0 ? x - 0.5 : x + 0.5); }

// x in [-pi/4, pi/4]; Taylor series to x^17 and x^16, evaluated from the smallest term.
double sin_core(double x) {
    constexpr double c[] = {-1.0 / 6,
                            1.0 / 120,
                            -1.0 / 5040,
                            1.0 / 362880,
                            -1.0 / 39916800,
                            1.0 / 6227020800.0,
                            -1.0 / 1307674368000.0,
                            1.0 / 355687428096000.0};
    const double s = x * x;
    double sum = c[7];
    for (int i = 6; i >= 0; i--) sum = sum * s + c[i];
    return x + x * s * sum;
}
double cos_core(double x) {
    constexpr double c[] = {-1.0 / 2,       1.0 / 24,        -1.0 / 720,           1.0 / 40320,
                            -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};
    const double s = x * x;
    double sum = c[7];
    for (int i = 6; i >= 0; i--) sum = sum * s + c[i];
    return 1.0 + s * sum;
}

// quarter: 0 sine, 1 cosine
double circular(double x, int64_t quarter) {
    const int64_t n = nearest(x * k_two_over_pi);
    const double r = (x - static_cast<double>(n) * k_half_pi_high) - static_cast<double>(n) * k_half_pi_low;
    switch ((n + quarter) & 3) {
        case 0:
            return sin_core(r);
        case 1:
            return cos_core(r);
        case 2:
            return -sin_core(r);
        default:
            return -cos_core(r);
    }
}

}  // namespace

double exp_f64(double x) {
    if (x != x) return x;
    if (x > k_exp_most) return std::numeric_limits<double>::infinity();
    if (x < k_exp_least) return 0.0;
    const int64_t n = nearest(x * k_log2_e);
    const double r = (x - static_cast<double>(n) * k_ln2_high) - static_cast<double>(n) * k_ln2_low;
    double sum = 1.0;  // Horner form of the Taylor series to r^15
    for (int i = 15; i >= 1; i--) sum = 1.0 + r * sum / i;
    return sum * std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52);
}

double log_f64(double x) {
    const auto bits = std::bit_cast<uint64_t>(x);
    auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent += 1;
    }
    const double s = (m - 1.0) / (m + 1.0), s2 = s * s;  // ln m = 2 (s + s^3/3 + s^5/5 ...), |s| < 0.172
    double sum = 0.0;
    for (int i = 23; i >= 3; i -= 2) sum = (sum + 1.0 / i) * s2;
    const double e = static_cast<double>(exponent);
    return e * k_ln2_high + (2.0 * s + (2.0 * s * sum + e * k_ln2_low));
}

double pow_f64(double base, double y) { return exp_f64(y * log_f64(base)); }
double sin_f64(double x) { return circular(x, 0); }
double cos_f64(double x) { return circular(x, 1); }

}  // namespace ft
