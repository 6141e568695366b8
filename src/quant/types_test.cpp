// The table of types against the goldens: blocks made by the ggml library and by chance, and the f32 values
// that the library decodes them to.
#include "quant/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"

namespace ft {
namespace {

const std::filesystem::path k_goldens = std::filesystem::path(FREETOKEN_SOURCE_DIR) / "tests/goldens/quants";

std::vector<std::byte> read_golden(const std::string& name) {
    std::ifstream in(k_goldens / name, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> bytes(chars.size());
    std::transform(chars.begin(), chars.end(), bytes.begin(), [](char c) { return std::byte(c); });
    return bytes;
}

// Blocks to test with: the goldens; F32, which has none, gets numbers of all magnitudes.
std::vector<std::byte> sample_blocks(const TypeInfo& info) {
    if (info.type != QuantType::F32) return read_golden(std::string(info.name) + ".bin");
    std::vector<std::byte> bytes(992 * sizeof(float));
    std::mt19937 random(1);
    for (size_t i = 0; i < 992; i++) {
        const int exponent = static_cast<int>(random() % 60) - 30;
        store(&bytes[4 * i], std::ldexp(static_cast<float>(random()) * 0x1p-31f - 1.0f, exponent));
    }
    return bytes;
}

std::vector<float> dequantised(const TypeInfo& info, const std::vector<std::byte>& blocks) {
    std::vector<float> values(blocks.size() / info.block_bytes * info.block_values);
    info.dequantise(blocks.data(), values.data(), static_cast<int64_t>(values.size()));
    return values;
}

TEST(Types, EveryGoldenTypeHasARow) {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(k_goldens)) {
        if (entry.path().extension() != ".bin") continue;
        const std::string name = entry.path().stem().string();
        const auto types = all_types();
        EXPECT_TRUE(std::any_of(types.begin(), types.end(), [&](const TypeInfo& t) {
            return t.name == name;
        })) << name;
        found++;
    }
    EXPECT_EQ(found, static_cast<int>(all_types().size()) - 1);  // F32 has no golden
}

TEST(Types, RowsRiseByTypeNumberAndAreFound) {
    uint32_t last = 0;
    for (const TypeInfo& info : all_types()) {
        const auto number = static_cast<uint32_t>(info.type);
        EXPECT_TRUE(number > last || info.type == QuantType::F32) << info.name;
        last = number;
        EXPECT_EQ(find_type(number), &info);
        EXPECT_EQ(&type_info(info.type), &info);
        EXPECT_EQ(256 % info.block_values, 0) << "a group of 256 values holds whole blocks";
        EXPECT_EQ(info.row_bytes(512), 512u / info.block_values * info.block_bytes);
    }
    for (const uint32_t number : {4u, 5u, 9u, 15u, 24u, 28u, 31u, 36u, 38u, 43u, 1000u, 0xffffffffu})
        EXPECT_EQ(find_type(number), nullptr) << number;
}

TEST(Types, DequantisesToTheGoldenBits) {
    for (const TypeInfo& info : all_types()) {
        if (info.type == QuantType::F32) continue;
        const std::vector<std::byte> expected = read_golden(std::string(info.name) + ".f32");
        const std::vector<float> values = dequantised(info, sample_blocks(info));
        ASSERT_EQ(expected.size(), values.size() * sizeof(float)) << info.name;
        ASSERT_GT(values.size(), 0u) << info.name;
        for (size_t i = 0; i < values.size(); i++) {
            const auto golden = load<float>(&expected[4 * i]);
            if (std::isnan(golden) && std::isnan(values[i])) continue;
            ASSERT_EQ(load<uint32_t>(&values[i]), load<uint32_t>(&golden)) << info.name << " value " << i;
        }
    }
}

// How an activation row is filled.
enum class Fill { normal, small_integers, extreme, alternating };

std::vector<float> activations(Fill fill, int64_t n, std::mt19937& random) {
    std::normal_distribution<float> normal(0.0f, 1.0f);
    std::vector<float> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); i++) {
        switch (fill) {
            case Fill::normal:
                x[i] = normal(random);
                break;
            case Fill::small_integers:
                x[i] = static_cast<float>(static_cast<int>(random() % 255) - 127);
                break;
            case Fill::extreme:
                x[i] = -1000.0f;
                break;  // every code is -127
            case Fill::alternating:
                x[i] = i % 2 == 0 ? 1.0f : -1.0f;
                break;
        }
    }
    return x;
}

// The dot product in double of the dequantised weights with the dequantised activations must agree with the
// exact rule but for the few roundings that the rule has: relative to the largest weight of each block, since
// a block's scale part and its minimum part may cancel.
void expect_dot(const TypeInfo& info, const std::vector<std::byte>& row, const std::vector<float>& x,
                const std::string& what) {
    const auto n = static_cast<int64_t>(x.size());
    Buffer<std::byte> blob(act_layout(info.activations, n).end);
    make_activations(info.activations, x.data(), n, blob.data());
    const ActRow act = act_row(info.activations, blob.data(), n);
    const std::vector<float> w = dequantised(info, row);
    ASSERT_EQ(w.size(), x.size());

    const int64_t block = std::max(info.block_values, 32);
    double exact = 0;
    double size = 0;
    for (int64_t start = 0; start < n; start += block) {
        double max_weight = 0;
        double sum_x = 0;
        for (int64_t i = start; i < std::min(start + block, n); i++) {
            double value = x[i];
            if (info.activations != ActKind::f32)
                value = double(act.d[i / (info.activations == ActKind::q8_256 ? 256 : 32)]) * act.q[i];
            exact += w[i] * value;
            sum_x += std::abs(value);
            max_weight = std::max(max_weight, double(std::abs(w[i])));
        }
        size += max_weight * sum_x;
    }
    if (size > std::numeric_limits<float>::max())
        return;  // bit patterns by chance (BF16): partial sums may overflow
    const double underflow = static_cast<double>(n) * 0x1p-130;  // a subnormal (d * da) times a large integer
    EXPECT_NEAR(info.dot(row.data(), act, n), exact, size * 0x1p-22 + underflow)
        << info.name << " n " << n << " " << what;
}

TEST(Types, DotAgreesWithTheProductInDouble) {
    std::mt19937 random(7);
    for (const TypeInfo& info : all_types()) {
        const std::vector<std::byte> blocks = sample_blocks(info);
        const int64_t n_blocks = static_cast<int64_t>(blocks.size()) / info.block_bytes;
        for (const int64_t n :
             {1, 31, 32, 33, 64, 96, 128, 224, 256, 257, 288, 320, 512, 704, 768, 2048, 2880}) {
            if (n % info.block_values != 0) continue;
            if (n % 32 != 0 && info.activations != ActKind::f32) continue;
            for (int64_t try_no = 0; try_no < 24; try_no++) {
                std::vector<std::byte> row;
                for (int64_t b = 0; b < n / info.block_values; b++) {
                    const auto from = blocks.begin() + (try_no * 5 + b * 7) % n_blocks * info.block_bytes;
                    row.insert(row.end(), from, from + info.block_bytes);
                }
                expect_dot(info, row, activations(static_cast<Fill>(try_no % 4), n, random),
                           "try " + std::to_string(try_no));
            }
        }
    }
}

TEST(Types, DotOfEveryGoldenBlockAlone) {
    std::mt19937 random(8);
    for (const TypeInfo& info : all_types()) {
        if (info.block_values == 1) continue;
        const std::vector<std::byte> blocks = sample_blocks(info);
        for (size_t at = 0; at < blocks.size(); at += info.block_bytes) {
            const std::vector<std::byte> row(blocks.begin() + at, blocks.begin() + at + info.block_bytes);
            for (const Fill fill : {Fill::normal, Fill::small_integers, Fill::extreme, Fill::alternating})
                expect_dot(info, row, activations(fill, info.block_values, random),
                           "block at " + std::to_string(at));
        }
    }
}

TEST(Types, ANaNActivationMakesTheDotNaN) {
    for (const TypeInfo& info : all_types()) {
        const std::vector<std::byte> blocks = sample_blocks(info);
        std::vector<float> x(256, 1.0f);
        x[255] = std::nanf("");
        Buffer<std::byte> blob(act_layout(info.activations, 256).end);
        make_activations(info.activations, x.data(), 256, blob.data());
        EXPECT_TRUE(std::isnan(info.dot(blocks.data(), act_row(info.activations, blob.data(), 256), 256)))
            << info.name;
    }
}

}  // namespace
}  // namespace ft
