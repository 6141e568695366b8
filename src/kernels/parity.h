// What the tests of the tables share: rows of awkward values, and comparison of bits where NaN equals NaN.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/scalar/table.h"

namespace ft {

// The tables that must agree with k_scalar_kernels: all that this processor can run, the scalar code with FMA
// included.
inline std::vector<const Kernels*> tables_to_compare() {
    const auto all = compiled_kernels();
    return {all.begin(), all.end()};
}

inline bool same_bits(float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// How many of the values differ in bits.
inline int64_t n_different(std::span<const float> a, std::span<const float> b) {
    int64_t n = a.size() == b.size() ? 0 : 1;
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) n += same_bits(a[i], b[i]) ? 0 : 1;
    return n;
}

enum class Values { ordinary, wide, special };
constexpr Values k_all_values[] = {Values::ordinary, Values::wide, Values::special};

// ordinary: about N(0, 1).  wide: exponents from subnormal to near overflow.  special: ordinary with zeros of
// both signs, infinities, NaN and subnormals among them.
inline std::vector<float> make_row(int64_t n, Values values, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int> exponent(-140, 120);
    const float specials[] = {0.0f,
                              -0.0f,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(),
                              0x1p-149f,
                              -0x1p-130f};
    std::vector<float> row(static_cast<size_t>(n));
    for (float& x : row) {
        x = normal(random);
        if (values == Values::wide) x = std::ldexp(x, exponent(random));
        if (values == Values::special && random() % 16 == 0) x = specials[random() % 7];
    }
    return row;
}

}  // namespace ft
