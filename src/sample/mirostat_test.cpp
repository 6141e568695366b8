#include "sample/mirostat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace ft {
namespace {

// Surprises of 1, 2, 3 and 3 bits.
Candidates four() {
    Candidates candidates;
    candidates.collect(
        std::vector<float>{std::log(0.5f), std::log(0.25f), std::log(0.125f), std::log(0.125f)});
    return candidates;
}

// The bound begins at twice the target: 2.2 bits leave the first two, with 2/3 and 1/3.
TEST(Mirostat, LeavesOutWhatIsTooSurprisingAndMovesTheBound) {
    Candidates candidates = four();
    Mirostat low(1.1, 0.1);
    EXPECT_EQ(low.draw(candidates, 1, 0.5), 0);
    EXPECT_NEAR(low.bound(), 2.2 - 0.1 * (std::log2(1.5) - 1.1), 1e-6);  // surprise among what was left
    candidates = four();
    Mirostat high(1.1, 0.1);
    EXPECT_EQ(high.draw(candidates, 1, 0.7), 1);
    EXPECT_NEAR(high.bound(), 2.2 - 0.1 * (std::log2(3) - 1.1), 1e-6);
}

TEST(Mirostat, TheLikeliestAlwaysStays) {
    Candidates candidates = four();
    Mirostat strict(0.1, 0.1);
    EXPECT_EQ(strict.draw(candidates, 1, 0.99), 0);
    EXPECT_NEAR(strict.bound(), 0.2 + 0.1 * 0.1, 1e-9);  // no surprise at all: the bound rises
}

TEST(Mirostat, ItsSurpriseComesNearTheTarget) {
    Candidates candidates;
    std::vector<float> logits;
    for (int i = 0; i < 1000; i++) logits.push_back(-1.1f * std::log(static_cast<float>(i + 1)));
    for (const double tau : {2.0, 4.0}) {
        Mirostat mirostat(tau, 0.1);
        double total = 0;
        for (int i = 0; i < 2000; i++) {
            candidates.collect(logits);
            const double before = mirostat.bound();
            mirostat.draw(candidates, 1, std::fmod(i * 0.6180339887498949, 1.0));
            total += tau + (before - mirostat.bound()) / 0.1;
        }
        EXPECT_NEAR(total / 2000, tau, 0.1);
    }
}

}  // namespace
}  // namespace ft
