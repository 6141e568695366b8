// The AVX2 matrix products and activations against the scalar definition, bit for bit: every type, with rows
// and tokens that fill no tile, weights at odd addresses, and buffers that end where the data ends (a
// sanitizer sees a read beyond).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <new>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "kernels/avx2/matmul.h"
#include "quant/types.h"

namespace ft {

static void PrintTo(const TypeInfo& type, std::ostream* out) { *out << type.name; }

namespace {

bool cpu_has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
}

struct FreeAligned {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t(64)); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;

// No byte more than n; garbage, so that a kernel that reads what it did not write is seen.
AlignedBytes aligned_bytes(size_t n) {
    AlignedBytes bytes(static_cast<std::byte*>(::operator new(n, std::align_val_t(64))));
    std::memset(bytes.get(), 0xa5, n);
    return bytes;
}

bool same_bits(float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// Where a block keeps f16 scales; -1: none there. Types without a row keep random scales.
struct ScaleAt {
    QuantType type;
    int d, second;
};
constexpr ScaleAt k_scales[] = {
    {QuantType::Q4_0, 0, -1},   {QuantType::Q4_1, 0, 2},     {QuantType::Q5_0, 0, -1},
    {QuantType::Q5_1, 0, 2},    {QuantType::Q8_0, 0, -1},    {QuantType::Q2_K, 80, 82},
    {QuantType::Q3_K, 108, -1}, {QuantType::Q4_K, 0, 2},     {QuantType::Q5_K, 0, 2},
    {QuantType::Q6_K, 208, -1}, {QuantType::IQ2_XXS, 0, -1}, {QuantType::IQ2_XS, 0, -1},
    {QuantType::IQ2_S, 0, -1},  {QuantType::IQ3_XXS, 0, -1}, {QuantType::IQ3_S, 0, -1},
    {QuantType::IQ1_S, 0, -1},  {QuantType::IQ4_NL, 0, -1},  {QuantType::IQ4_XS, 0, -1},
    {QuantType::TQ1_0, 52, -1}, {QuantType::TQ2_0, 64, -1},  {QuantType::Q1_0, 0, -1},
    {QuantType::Q2_0, 0, -1},
};

class Inputs {
 public:
    // One row: its codes by `kind` (0 random; 1, 2, 3 all 0x00, 0x80, 0xff; 4 these mixed), its scales tame,
    // some of them subnormal.
    void fill_row(const TypeInfo& type, std::byte* row, int64_t n_col, int kind) {
        const size_t n_byte = type.row_bytes(n_col);
        constexpr uint8_t k_extreme[] = {0x00, 0x80, 0xff};
        for (size_t i = 0; i < n_byte; i++) {
            const uint32_t bits = rng_();
            uint8_t byte = static_cast<uint8_t>(bits);
            if (kind >= 1 && kind <= 3) byte = k_extreme[kind - 1];
            if (kind == 4) byte = k_extreme[bits % 3];
            row[i] = static_cast<std::byte>(byte);
        }
        if (type.activations == ActKind::f32) return fill_floats(type, row, n_col, kind);
        const auto block_bytes = static_cast<size_t>(type.block_bytes);
        for (size_t b = 0; b < n_byte; b += block_bytes) tame_scales(type, row + b);
    }

    // One token: by `kind` normal, +-1, all equal, mostly denormal, one NaN, one infinity, a wide range, all
    // tiny (with tiny weights the products vanish, and only their sign is left).
    std::vector<float> token(int64_t n, int kind) {
        std::vector<float> x(static_cast<size_t>(n));
        for (size_t i = 0; i < x.size(); i++) {
            x[i] = normal_(rng_);
            if (kind == 1) x[i] = rng_() & 1 ? 1.0f : -1.0f;
            if (kind == 2) x[i] = 1.0f;
            if (kind == 3) x[i] = i / 32 % 3 == 0 ? x[i] * 1e-38f : i % 7 == 0 ? -0.0f : 0.0f;
            if (kind == 7) x[i] = 1e-38f;
            if (kind == 6) x[i] = std::ldexp(x[i], static_cast<int>(rng_() % 60) - 40);
        }
        if (kind == 4) x[rng_() % x.size()] = std::nanf("");
        if (kind == 5) x[rng_() % x.size()] = -INFINITY;
        return x;
    }

 private:
    uint16_t tame_half() {
        if (rng_() % 16 == 0) return static_cast<uint16_t>(rng_() & 0x83ff);  // zero or subnormal
        return static_cast<uint16_t>(0x1c00 + (rng_() & 0x83ff));             // 0.004 .. 0.008
    }
    void tame_scales(const TypeInfo& type, std::byte* block) {
        if (type.type == QuantType::MXFP4 && rng_() % 8 != 0)
            block[0] = static_cast<std::byte>(rng_() % 8 == 0 ? rng_() % 3 : 118 + rng_() % 12);
        for (const ScaleAt& at : k_scales) {
            if (at.type != type.type) continue;
            store(block + at.d, tame_half());
            if (at.second >= 0) store(block + at.second, tame_half());
        }
    }
    void fill_floats(const TypeInfo& type, std::byte* row, int64_t n_col, int kind) {
        if (kind == 1 || kind == 2) return;  // zeros, and tiny negative numbers
        for (int64_t i = 0; i < n_col; i++) {
            std::byte* at = row + i * type.block_bytes;
            if (type.type == QuantType::F16) {
                store(at, tame_half());
                continue;
            }
            const auto bits = std::bit_cast<uint32_t>(kind == 4 ? normal_(rng_) * 1e-30f : normal_(rng_));
            if (type.type == QuantType::F32) store(at, bits);
            else store(at, static_cast<uint16_t>(bits >> 16));
        }
    }

    std::mt19937 rng_{12345};
    std::normal_distribution<float> normal_;
};

struct Shape {
    int n_row, n_token;
};

// One product, every result of it compared.
void expect_same_product(const TypeInfo& type, int64_t n_col, Shape shape, Inputs& inputs) {
    SCOPED_TRACE(std::string(type.name) + ", columns " + std::to_string(n_col) + ", rows " +
                 std::to_string(shape.n_row) + ", tokens " + std::to_string(shape.n_token));
    const size_t row_bytes = type.row_bytes(n_col);
    const auto n_row = static_cast<size_t>(shape.n_row), n_token = static_cast<size_t>(shape.n_token);
    const AlignedBytes storage = aligned_bytes(1 + row_bytes * n_row);
    std::byte* weights = storage.get() + 1;
    for (size_t r = 0; r < n_row; r++)
        inputs.fill_row(type, weights + r * row_bytes, n_col, static_cast<int>(r % 5));

    std::vector<AlignedBytes> blobs, truths;
    std::vector<const std::byte*> acts;
    constexpr float k_untouched = 4711.0f;
    std::vector<std::vector<float>> results(n_token, std::vector<float>(n_row + 2, k_untouched));
    std::vector<float*> out;
    for (size_t t = 0; t < n_token; t++) {
        const std::vector<float> x = inputs.token(n_col, static_cast<int>(t % 8));
        blobs.push_back(aligned_bytes(act_bytes_avx2(type.activations, n_col)));
        quantise_avx2(type.activations, x.data(), n_col, blobs.back().get());
        truths.push_back(aligned_bytes(act_layout(type.activations, n_col).end));
        make_activations(type.activations, x.data(), n_col, truths.back().get());
        acts.push_back(blobs.back().get());
        out.push_back(results[t].data() + 1);
    }
    MatMul m{.weights = weights,
             .row_bytes = row_bytes,
             .n_col = n_col,
             .n_row = shape.n_row,
             .acts = acts.data(),
             .out = out.data(),
             .n_token = shape.n_token};
    if (shape.n_row % 2 == 0) m.next = weights;
    matmul_avx2(type.type, m);

    for (size_t t = 0; t < n_token; t++) {
        const ActRow x = act_row(type.activations, truths[t].get(), n_col);
        for (size_t r = 0; r < n_row; r++) {
            const float truth = type.dot(weights + r * row_bytes, x, n_col);
            ASSERT_TRUE(same_bits(truth, results[t][r + 1]))
                << "token " << t << ", row " << r << ": " << results[t][r + 1] << " instead of " << truth;
        }
        ASSERT_EQ(results[t].front(), k_untouched);
        ASSERT_EQ(results[t].back(), k_untouched);
    }
}

class MatmulParity : public testing::TestWithParam<TypeInfo> {
 protected:
    void SetUp() override {
        if (!cpu_has_avx2()) GTEST_SKIP() << "this processor has no AVX2";
    }
};

TEST_P(MatmulParity, EveryResultHasTheBitsOfTheDefinition) {
    const TypeInfo& type = GetParam();
    Inputs inputs;
    for (const int64_t n_col : {1, 7, 31, 32, 33, 64, 96, 100, 224, 256, 257, 288, 512, 768, 2048, 2880}) {
        if (n_col % type.block_values != 0) continue;
        for (const Shape shape :
             {Shape{1, 1}, {3, 2}, {7, 3}, {8, 1}, {9, 5}, {16, 4}, {17, 1}, {19, 11}, {40, 6}})
            expect_same_product(type, n_col, shape, inputs);
    }
}

// More tokens than one block of a tile holds, and one or several rows at a time of all remainders of 16.
TEST_P(MatmulParity, ManyTokensAndEveryCountOfRows) {
    const TypeInfo& type = GetParam();
    Inputs inputs;
    expect_same_product(type, 512, {18, 67}, inputs);
    expect_same_product(type, 256, {16, 131}, inputs);
    for (int n_row = 1; n_row <= 40; n_row++) {
        expect_same_product(type, 256, {n_row, 1}, inputs);
        expect_same_product(type, 256, {n_row, 4}, inputs);
    }
}

std::string name_of(const testing::TestParamInfo<TypeInfo>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Types, MatmulParity, testing::ValuesIn(all_types().begin(), all_types().end()),
                         name_of);

TEST(QuantiseAvx2, PartsOfTheDefinitionAreTheSame) {
    if (!cpu_has_avx2()) GTEST_SKIP() << "this processor has no AVX2";
    Inputs inputs;
    for (const ActKind kind : {ActKind::f32, ActKind::q8_256, ActKind::q8_32})
        for (const int64_t n : {32, 96, 256, 288, 768, 2048, 2880}) {
            if (kind == ActKind::q8_256 && n % 256 != 0) continue;
            for (int content = 0; content < 8; content++) {
                const std::vector<float> x = inputs.token(n, content);
                const size_t n_byte = act_layout(kind, n).end;
                const AlignedBytes truth = aligned_bytes(n_byte),
                                   blob = aligned_bytes(act_bytes_avx2(kind, n));
                make_activations(kind, x.data(), n, truth.get());
                quantise_avx2(kind, x.data(), n, blob.get());
                if (kind == ActKind::f32) {
                    EXPECT_EQ(std::memcmp(truth.get(), blob.get(), static_cast<size_t>(n) * sizeof(float)),
                              0);
                    continue;
                }
                const ActRow a = act_row(kind, truth.get(), n), b = act_row(kind, blob.get(), n);
                for (int64_t i = 0; i < n; i++)
                    ASSERT_EQ(a.q[i], b.q[i]) << n << " values, content " << content;
                for (int64_t i = 0; i < n / 16; i++) ASSERT_EQ(a.s16[i], b.s16[i]);
                for (int64_t i = 0; i < n / (kind == ActKind::q8_256 ? 256 : 32); i++)
                    ASSERT_TRUE(same_bits(a.d[i], b.d[i])) << a.d[i] << " and " << b.d[i];
            }
        }
}

}  // namespace

}  // namespace ft
