// The delta net's step and the short convolution: equal bits in every table, and the recurrence they should
// follow.
#include "kernels/parity.h"

namespace ft {
namespace {

struct Step {
    int d;
    std::vector<float> state, q, k, v, o;
};

Step make_step(int d, Values values) {
    return {d,
            make_row(int64_t{d} * d, values, 1),
            make_row(d, values, 2),
            make_row(d, values, 3),
            make_row(d, values, 4),
            std::vector<float>(static_cast<size_t>(d))};
}

void run(const Kernels& table, Step& s) {
    table.delta_step(s.state.data(), s.q.data(), s.k.data(), s.v.data(), 0.9f, 0.7f, 0.125f, s.d, s.o.data());
}

TEST(DeltaStep, EveryTableGivesTheScalarBits) {
    for (const Kernels* table : tables_to_compare()) {
        for (const Values values : k_all_values) {
            for (const int d : {1, 3, 8, 16, 20, 40, 64, 100, 128}) {
                Step expected = make_step(d, values), step = expected;
                for (int token = 0; token < 3; ++token) {
                    run(k_scalar_kernels, expected);
                    run(*table, step);
                }
                EXPECT_EQ(n_different(step.o, expected.o), 0) << table->name << " d " << d;
                EXPECT_EQ(n_different(step.state, expected.state), 0) << table->name << " d " << d;
            }
        }
    }
}

TEST(DeltaStep, FollowsTheRecurrence) {
    Step s = make_step(24, Values::ordinary);
    std::vector<double> state(s.state.begin(), s.state.end());
    run(k_scalar_kernels, s);
    for (int j = 0; j < s.d; ++j) {
        double sum = 0, out = 0;
        for (int i = 0; i < s.d; ++i) sum += s.k[i] * 0.9 * state[i * s.d + j];
        const double u = 0.7 * (s.v[j] - sum);
        for (int i = 0; i < s.d; ++i) {
            const double value = 0.9 * state[i * s.d + j] + s.k[i] * u;
            EXPECT_NEAR(s.state[i * s.d + j], value, 1e-4);
            out += s.q[i] * value;
        }
        EXPECT_NEAR(s.o[j], 0.125 * out, 1e-4);
    }
}

TEST(Convolution, EveryTableGivesTheScalarBits) {
    for (const Kernels* table : tables_to_compare()) {
        for (const Values values : k_all_values) {
            for (const int taps : {1, 2, 3, 4, 5, 8}) {
                for (const int64_t n : {1, 7, 8, 9, 16, 64, 67}) {
                    const auto history = make_row((taps - 1) * n, values, 1);
                    const auto x = make_row(n, values, 2);
                    const auto w = make_row(n * taps, values, 3);
                    std::vector<float> expected(x.size()), out(x.size());
                    k_scalar_kernels.conv_silu(history.data(), x.data(), w.data(), taps, n, expected.data());
                    table->conv_silu(history.data(), x.data(), w.data(), taps, n, out.data());
                    EXPECT_EQ(n_different(out, expected), 0)
                        << table->name << " taps " << taps << " channels " << n;
                }
            }
        }
    }
}

TEST(Convolution, LastTapIsTheCurrentToken) {
    const float history[] = {1, 10, 2, 20, 3, 30};  // three tokens, two channels
    const float x[] = {4, 40};
    const float w[] = {0.5f, 0.25f, 0, 1, 0, 0, 0, 2};
    float out[2];
    for (const Kernels* table : tables_to_compare()) {
        table->conv_silu(history, x, w, 4, 2, out);
        EXPECT_FLOAT_EQ(out[0], 5.0f / (1 + std::exp(-5.0f)));
        EXPECT_FLOAT_EQ(out[1], 80.0f);
    }
}

}  // namespace
}  // namespace ft
