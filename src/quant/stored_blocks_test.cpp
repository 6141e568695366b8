#include "quant/stored_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "quant/types.h"

namespace ft {
namespace {

using Store = void (*)(const float*, int64_t, std::byte*);

std::vector<float> through(Store store, QuantType type, const std::vector<float>& x) {
    const auto n = static_cast<int64_t>(x.size());
    std::vector<std::byte> row(type_info(type).row_bytes(n));
    store(x.data(), n, row.data());
    std::vector<float> out(x.size());
    type_info(type).dequantise(row.data(), out.data(), n);
    return out;
}

TEST(StoredBlocks, ValuesComeBackWithinHalfAStep) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> x(512);
    for (float& value : x) value = normal(random);
    const auto q8 = through(store_q8_0, QuantType::Q8_0, x), q4 = through(store_q4_0, QuantType::Q4_0, x);
    for (size_t block = 0; block < x.size(); block += 32) {
        float most = 0;
        for (size_t i = block; i < block + 32; i++) most = std::max(most, std::fabs(x[i]));
        for (size_t i = block; i < block + 32; i++) {
            // a half step, and what rounding the scale to half adds
            EXPECT_LE(std::fabs(q8[i] - x[i]), most * (0.5f / 127 + 0.0006f));
            // codes -8 .. 7: a value near the other end may be a whole step off
            EXPECT_LE(std::fabs(q4[i] - x[i]), most * (1.0f / 8 + 0.0006f));
        }
    }
}

// By hand: m = -4, d' = 0.5, so x * 2 + 8.5 rounded down, at most 15.
TEST(StoredBlocks, Q40CodesByHand) {
    std::vector<float> x(32, 0.0f);
    x[0] = -4.0f;
    x[1] = 4.0f;
    x[2] = 0.25f;
    x[17] = -0.26f;
    std::vector<std::byte> row(18);
    store_q4_0(x.data(), 32, row.data());
    EXPECT_EQ(row[1], std::byte{0x38});  // 0.5 as a half
    EXPECT_EQ(row[2], std::byte{0x80});  // -4: code 0; x[16] = 0: code 8
    EXPECT_EQ(row[3], std::byte{0x7f});  // 4: clamped to 15; -0.26: 7
    EXPECT_EQ(row[4], std::byte{0x89});  // 0.25: 9
}

TEST(StoredBlocks, ZerosTinyAndNotFinite) {
    const float inf = std::numeric_limits<float>::infinity();
    for (const auto& [store, type] :
         {std::pair<Store, QuantType>{store_q8_0, QuantType::Q8_0}, {store_q4_0, QuantType::Q4_0}}) {
        std::vector<float> x(32, 0.0f);
        for (const float value : through(store, type, x)) EXPECT_EQ(value, 0.0f);
        x[5] = 1e-44f;
        for (const float value : through(store, type, x)) EXPECT_EQ(value, 0.0f);
        for (const float bad : {inf, -inf, std::nanf("")}) {
            x[5] = bad;
            for (const float value : through(store, type, x)) EXPECT_TRUE(std::isnan(value));
        }
    }
}

}  // namespace
}  // namespace ft
