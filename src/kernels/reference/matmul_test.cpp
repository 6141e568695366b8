#include "kernels/reference/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "kernels/scalar/matmul.h"
#include "quant/half.h"

namespace ft {
namespace {

// n_row rows by chance, at an odd address as in files, and n_token activation rows.
struct Case {
    const TypeInfo& info;
    int64_t n_row;
    int64_t n_col;
    int n_token;
    std::vector<std::byte> bytes;
    std::vector<float> x;

    Case(const TypeInfo& type, int64_t rows, int64_t cols, int tokens)
        : info(type), n_row(rows), n_col(cols), n_token(tokens) {
        std::mt19937 random(static_cast<unsigned>(cols));
        bytes.resize(1 + static_cast<size_t>(rows) * info.row_bytes(cols));
        for (std::byte& b : bytes) b = std::byte(random() & 0x3f);  // no infinite scale, no NaN
        x.resize(static_cast<size_t>(tokens * cols));
        for (float& v : x) v = static_cast<float>(random()) * 0x1p-31f - 1.0f;
    }
    const std::byte* weights() const { return bytes.data() + 1; }

    std::vector<float> multiply(ActKind kind, void (*matmul)(QuantType, const MatMul&)) const {
        std::vector<Buffer<std::byte>> blobs;
        std::vector<const std::byte*> acts;
        std::vector<float> result(static_cast<size_t>(n_row * n_token), -1.0f);
        std::vector<float*> out;
        for (int t = 0; t < n_token; t++) {
            blobs.emplace_back(act_layout(kind, n_col).end);
            make_activations(kind, x.data() + t * n_col, n_col, blobs.back().data());
            acts.push_back(blobs.back().data());
            out.push_back(result.data() + t * n_row);
        }
        matmul(info.type, {weights(), info.row_bytes(n_col), n_col, n_row, acts.data(), out.data(), n_token});
        return result;
    }
};

constexpr int64_t k_row_lengths[] = {1, 40, 64, 128, 256, 320, 576, 768};

// Rule 1.1 written the other way round: lane by lane, weights from one dequantisation of the whole row.
float plain_dot(const std::vector<float>& w, const float* x) {
    float result = 0.0f;
    for (size_t start = 0; start < w.size(); start += 256) {
        const size_t end = std::min(start + 256, w.size());
        float lane[32] = {};
        for (size_t l = 0; l < 32; l++)
            for (size_t i = start + l; i < end; i += 32) lane[l] = std::fma(w[i], x[i], lane[l]);
        for (const size_t half : {16, 8, 4, 2, 1})
            for (size_t l = 0; l < half; l++) lane[l] += lane[l + half];
        result = start == 0 ? lane[0] : result + lane[0];
    }
    return result;
}

TEST(ReferenceMatmul, IsRule1OverTheDequantisedRow) {
    for (const TypeInfo& info : all_types()) {
        for (const int64_t n : k_row_lengths) {
            if (n % info.block_values != 0) continue;
            const Case c(info, 3, n, 2);
            const std::vector<float> result = c.multiply(ActKind::f32, matmul_reference);
            for (int64_t r = 0; r < c.n_row; r++) {
                std::vector<float> w(static_cast<size_t>(n));
                info.dequantise(c.weights() + static_cast<size_t>(r) * info.row_bytes(n), w.data(), n);
                for (int t = 0; t < c.n_token; t++)
                    EXPECT_EQ(result[t * c.n_row + r], plain_dot(w, c.x.data() + t * n))
                        << info.name << " n " << n << " row " << r << " token " << t;
            }
        }
    }
}

TEST(ReferenceMatmul, WithFmaInstructionsTheBitsAreTheSame) {
    if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this processor has no FMA";
    for (const TypeInfo& info : all_types()) {
        for (const int64_t n : k_row_lengths) {
            if (n % info.block_values != 0) continue;
            const Case c(info, 5, n, 3);
            const std::vector<float> plain = c.multiply(ActKind::f32, matmul_reference);
            const std::vector<float> fma = c.multiply(ActKind::f32, matmul_reference_fma);
            EXPECT_EQ(std::memcmp(plain.data(), fma.data(), plain.size() * sizeof(float)), 0)
                << info.name << " n " << n;
        }
    }
}

TEST(ScalarMatmul, EveryRowAndTokenIsTheTypesDot) {
    for (const TypeInfo& info : all_types()) {
        for (const int64_t n : k_row_lengths) {
            if (n % info.block_values != 0 || (n % 32 != 0 && info.activations != ActKind::f32)) continue;
            const Case c(info, 3, n, 2);
            const std::vector<float> result = c.multiply(info.activations, matmul_scalar);
            for (int t = 0; t < c.n_token; t++) {
                Buffer<std::byte> blob(act_layout(info.activations, n).end);
                make_activations(info.activations, c.x.data() + t * n, n, blob.data());
                const ActRow act = act_row(info.activations, blob.data(), n);
                for (int64_t r = 0; r < c.n_row; r++)
                    EXPECT_EQ(result[t * c.n_row + r],
                              info.dot(c.weights() + static_cast<size_t>(r) * info.row_bytes(n), act, n))
                        << info.name << " n " << n << " row " << r << " token " << t;
            }
        }
    }
}

}  // namespace
}  // namespace ft
