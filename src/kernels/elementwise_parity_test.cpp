// The elementwise operations of every table: equal bits, and the values they should have.
#include <algorithm>
#include <functional>
#include <string>

#include "kernels/parity.h"

namespace ft {
namespace {

constexpr int64_t k_lengths[] = {1,   2,   7,   8,   9,   15,  31,  32,  33,  63,  64,  65,  100,
                                 255, 256, 257, 263, 264, 288, 300, 511, 512, 513, 768, 2053};

struct Operation {
    const char* name;
    std::function<void(const Kernels&, const float* a, const float* b, int64_t n, float* out)> run;
};

const Operation k_operations[] = {
    {"rms_norm", [](const Kernels& k, const float* a, const float* b, int64_t n,
                    float* out) { k.rms_norm(a, b, n, 1e-6f, out); }},
    {"rms_norm without weights", [](const Kernels& k, const float* a, const float*, int64_t n,
                                    float* out) { k.rms_norm(a, nullptr, n, 1e-5f, out); }},
    {"l2_norm", [](const Kernels& k, const float* a, const float*, int64_t n,
                   float* out) { k.l2_norm(a, n, 1e-6f, out); }},
    {"silu_mul", [](const Kernels& k, const float* a, const float* b, int64_t n,
                    float* out) { k.silu_mul(a, b, n, out); }},
    {"sigmoid_mul", [](const Kernels& k, const float* a, const float* b, int64_t n,
                       float* out) { k.sigmoid_mul(a, b, n, out); }},
    {"silu",
     [](const Kernels& k, const float* a, const float*, int64_t n, float* out) { k.silu(a, n, out); }},
    {"softmax",
     [](const Kernels& k, const float* a, const float*, int64_t n, float* out) { k.softmax(a, n, out); }},
    {"add",
     [](const Kernels& k, const float* a, const float* b, int64_t n, float* out) { k.add(a, b, n, out); }},
    {"scale_add first", [](const Kernels& k, const float* a, const float*, int64_t n,
                           float* out) { k.scale_add(a, 0.3f, n, out, true); }},
    {"scale_add", [](const Kernels& k, const float* a, const float* b, int64_t n,
                     float* out) { std::copy_n(b, n, out), k.scale_add(a, 0.3f, n, out, false); }},
};

TEST(Elementwise, EveryTableGivesTheScalarBits) {
    for (const Kernels* table : tables_to_compare()) {
        for (const Operation& operation : k_operations) {
            for (const Values values : k_all_values) {
                for (const int64_t n : k_lengths) {
                    // Exact sizes, so that a sanitizer sees a read behind the end; every other row starts off
                    // any alignment.
                    const auto a = make_row(n, values, static_cast<uint64_t>(n));
                    const auto b = make_row(n, values, static_cast<uint64_t>(n) + 1000);
                    std::vector<float> expected(a.size()), result(a.size());
                    operation.run(k_scalar_kernels, a.data(), b.data(), n, expected.data());
                    operation.run(*table, a.data(), b.data(), n, result.data());
                    EXPECT_EQ(n_different(result, expected), 0)
                        << table->name << " " << operation.name << " n " << n << " values "
                        << static_cast<int>(values);
                }
            }
        }
    }
}

TEST(Elementwise, UnalignedRowsAndOutputInPlace) {
    for (const Kernels* table : tables_to_compare()) {
        for (const Operation& operation : k_operations) {
            const int64_t n = 77;
            const auto a = make_row(n, Values::ordinary, 1), b = make_row(n, Values::ordinary, 2);
            std::vector<float> expected(a.size());
            operation.run(k_scalar_kernels, a.data(), b.data(), n, expected.data());
            std::vector<float> in_place(a.size() + 3);
            std::copy(a.begin(), a.end(), in_place.begin() + 3);
            if (std::string(operation.name) != "scale_add")  // y is read there
                operation.run(*table, in_place.data() + 3, b.data(), n, in_place.data() + 3);
            else operation.run(*table, a.data(), b.data(), n, in_place.data() + 3);
            EXPECT_EQ(n_different(std::span(in_place).subspan(3), expected), 0)
                << table->name << " " << operation.name;
        }
    }
}

// 2^24 and then 1 in the same lane is lost, 1 + 1 in another lane is not: neither one running sum nor eight
// lanes give this result.
TEST(Elementwise, SumsHave32Lanes) {
    std::vector<float> x(64, 0.0f);
    x[0] = 4096.0f;
    x[32] = 1.0f;
    x[8] = x[40] = 1.0f;
    std::vector<float> out(x.size());
    for (const Kernels* table : tables_to_compare()) {
        table->l2_norm(x.data(), 64, 0.0f, out.data());
        EXPECT_EQ(out[0], 4096.0f * (1.0f / std::sqrt(16777218.0f))) << table->name;
    }
}

TEST(Elementwise, GroupsOf256AreAddedInOrder) {
    std::vector<float> x(768, 0.0f);
    x[0] = 4096.0f;  // p0 = 2^24
    x[256] = 1.0f;   // p1 = 1: lost on p0
    x[512] = 1.0f;   // p2 = 1: lost again; p1 + p2 first would not be
    std::vector<float> out(x.size());
    for (const Kernels* table : tables_to_compare()) {
        table->l2_norm(x.data(), 768, 0.0f, out.data());
        EXPECT_EQ(out[0], 4096.0f * (1.0f / std::sqrt(16777216.0f))) << table->name;
    }
}

TEST(Elementwise, NormsHaveTheirLength) {
    const auto x = make_row(300, Values::ordinary, 5);
    const auto w = make_row(300, Values::ordinary, 6);
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    std::vector<float> rms(x.size()), l2(x.size());
    k_scalar_kernels.rms_norm(x.data(), w.data(), 300, 1e-6f, rms.data());
    k_scalar_kernels.l2_norm(x.data(), 300, 1e-6f, l2.data());
    for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(rms[i], x[i] / std::sqrt(squares / 300 + 1e-6) * w[i], 1e-5);
        EXPECT_NEAR(l2[i], x[i] / std::sqrt(squares), 1e-6);
    }
    const float tiny[] = {0x1p-100f, 0.0f};
    float out[2];
    k_scalar_kernels.l2_norm(tiny, 2, 0.5f, out);
    EXPECT_EQ(out[0], 0x1p-99f);  // the length is at least eps
}

TEST(Elementwise, SoftmaxOfLargeValues) {
    const float x[] = {1000.0f, 1000.0f, -1000.0f};
    float out[3];
    for (const Kernels* table : tables_to_compare()) {
        table->softmax(x, 3, out);
        EXPECT_EQ(out[0], 0.5f);
        EXPECT_EQ(out[1], 0.5f);
        EXPECT_EQ(out[2], 0.0f);
    }
}

TEST(Elementwise, GatesAreSiluAndSigmoid) {
    const float gate[] = {1.5f, -2.0f}, x[] = {3.0f, 4.0f};
    float out[2];
    k_scalar_kernels.silu_mul(gate, x, 2, out);
    EXPECT_NEAR(out[0], 1.5 / (1 + std::exp(-1.5)) * 3, 1e-6);
    EXPECT_NEAR(out[1], -2.0 / (1 + std::exp(2.0)) * 4, 1e-6);
    k_scalar_kernels.sigmoid_mul(gate, x, 2, out);
    EXPECT_NEAR(out[0], 3 / (1 + std::exp(-1.5)), 1e-6);
    EXPECT_NEAR(out[1], 4 / (1 + std::exp(2.0)), 1e-6);
}

}  // namespace
}  // namespace ft
