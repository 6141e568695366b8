// The functions of math_source.h: accuracy against the C library in double, special values, and equal bits in
// every width over all f32 patterns by a stride.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/avx2/math_lanes.h"
#include "kernels/kernels.h"

namespace ft {
namespace {

constexpr float k_inf = std::numeric_limits<float>::infinity();
constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();

struct Function {
    const char* name;
    float (*scalar)(float);
    void (*avx2)(const float*, int64_t, float*);
    double (*exact)(double);
    float low, high;   // where accuracy is promised
    double most_ulps;  // error allowed there
};

double exact_softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }
double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exact_gelu(double x) { return 0.5 * x * (1 + std::tanh(0.79788456f * x * (1 + 0.044715f * x * x))); }

// softplus rounds 1 + e^x to f32, gelu 1 + tanh: what they lose is absolute, so their ranges end where that
// begins.
const Function k_functions[] = {
    {"exp", exp_f32, avx2::exp_all, [](double x) { return std::exp(x); }, -103.9f, 88.7f, 0.9},
    {"log", log_f32, avx2::log_all, [](double x) { return std::log(x); }, 0x1p-149f, 0x1.fffffep127f, 0.8},
    {"softplus", softplus_f32, avx2::softplus_all, exact_softplus, 0.0f, 0x1.fffffep127f, 3.0},
    {"sigmoid", sigmoid_f32, avx2::sigmoid_all, exact_sigmoid, -80.0f, 0x1.fffffep127f, 2.5},
    {"tanh", tanh_f32, avx2::tanh_all, [](double x) { return std::tanh(x); }, -0x1.fffffep127f,
     0x1.fffffep127f, 2.0},
    {"gelu", gelu_f32, avx2::gelu_all, exact_gelu, -0.5f, 0x1p40f, 5.0},
};

class Math : public testing::TestWithParam<Function> {};

// Distance from the exact value in units of the last place of a f32 near it.
double ulps(float value, double exact) {
    if (std::isinf(static_cast<float>(exact)) && static_cast<float>(exact) == value) return 0;
    int exponent = 0;
    std::frexp(exact, &exponent);
    return std::fabs(value - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

TEST_P(Math, IsAccurate) {
    const Function& f = GetParam();
    double worst = 0;
    float worst_at = 0;
    for (uint64_t pattern = 0; pattern < 1ull << 32; pattern += 4999) {
        const float x = std::bit_cast<float>(static_cast<uint32_t>(pattern));
        if (!(x >= f.low && x <= f.high)) continue;
        const double error = ulps(f.scalar(x), f.exact(x));
        if (!(error <= worst)) worst = error, worst_at = x;
    }
    EXPECT_LE(worst, f.most_ulps) << "at " << worst_at;
    EXPECT_GT(worst, 0.5) << "no result was looked at";
}

bool same_float(float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

TEST_P(Math, VectorsGiveTheSameBits) {
    if (compiled_kernels().back()->name != std::string("avx2")) GTEST_SKIP() << "this processor has no AVX2";
    const Function& f = GetParam();
    std::vector<float> x = {0.0f,  -0.0f,  1.0f,   -1.0f,   k_inf,     -k_inf,     k_nan,       0x1p-149f,
                            20.0f, 20.01f, 0.625f, 0.6249f, 88.72284f, 88.72283f,  -103.97208f, -87.33655f,
                            100.f, -150.f, 1e30f,  -1e30f,  0x1p-126f, -0x1p-126f, -103.27893f, -104.0f};
    for (uint64_t pattern = 0; pattern < 1ull << 32; pattern += 2003)
        x.push_back(std::bit_cast<float>(static_cast<uint32_t>(pattern)));
    std::vector<float> out(x.size());
    f.avx2(x.data(), static_cast<int64_t>(x.size()), out.data());
    int64_t n_wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        if (same_float(out[i], f.scalar(x[i]))) continue;
        if (++n_wrong < 5)
            ADD_FAILURE() << f.name << "(" << x[i] << "): " << out[i] << " and " << f.scalar(x[i]);
    }
    EXPECT_EQ(n_wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Math, testing::ValuesIn(k_functions),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Exp, SpecialValues) {
    EXPECT_EQ(exp_f32(0.0f), 1.0f);
    EXPECT_EQ(exp_f32(-0.0f), 1.0f);
    EXPECT_EQ(exp_f32(k_inf), k_inf);
    EXPECT_EQ(exp_f32(89.0f), k_inf);
    EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(-k_inf)), 0u);
    EXPECT_EQ(std::bit_cast<uint32_t>(exp_f32(-105.0f)), 0u);
    EXPECT_TRUE(std::isnan(exp_f32(k_nan)));
    EXPECT_EQ(exp_f32(-103.0f), 0x1p-149f);  // subnormal results are kept
    EXPECT_LT(exp_f32(-90.0f), 0x1p-126f);
    EXPECT_GT(exp_f32(-90.0f), 0.0f);
}

TEST(Log, SpecialValues) {
    EXPECT_EQ(log_f32(1.0f), 0.0f);
    EXPECT_EQ(log_f32(0.0f), -k_inf);
    EXPECT_EQ(log_f32(-0.0f), -k_inf);
    EXPECT_EQ(log_f32(k_inf), k_inf);
    EXPECT_TRUE(std::isnan(log_f32(-1.0f)));
    EXPECT_TRUE(std::isnan(log_f32(-k_inf)));
    EXPECT_TRUE(std::isnan(log_f32(k_nan)));
}

TEST(Softplus, IsTheArgumentAbove20) {
    EXPECT_EQ(softplus_f32(20.5f), 20.5f);
    EXPECT_EQ(softplus_f32(k_inf), k_inf);
    EXPECT_EQ(softplus_f32(-k_inf), 0.0f);
    EXPECT_TRUE(std::isnan(softplus_f32(k_nan)));
}

TEST(Tanh, KeepsSignsAndLimits) {
    EXPECT_EQ(tanh_f32(k_inf), 1.0f);
    EXPECT_EQ(tanh_f32(-k_inf), -1.0f);
    EXPECT_TRUE(std::signbit(tanh_f32(-0.0f)));
    EXPECT_EQ(tanh_f32(0x1p-149f), 0x1p-149f);
    EXPECT_TRUE(std::isnan(tanh_f32(k_nan)));
    for (const float x : {0.1f, 0.7f, 3.0f}) EXPECT_EQ(tanh_f32(-x), -tanh_f32(x));
}

TEST(Sigmoid, Limits) {
    EXPECT_EQ(sigmoid_f32(0.0f), 0.5f);
    EXPECT_EQ(sigmoid_f32(k_inf), 1.0f);
    EXPECT_EQ(sigmoid_f32(-k_inf), 0.0f);
}

}  // namespace
}  // namespace ft
