#include "tiers/use_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tiers/policy.h"
#include "tiers/replay.h"

namespace ft {

namespace {

constexpr double k_half_life = 16;

TEST(UseForecast, OneMemoryIsACountThatDecays) {
    UseForecast forecast(2, k_half_life, false);
    forecast.used(0, 0);
    for (int i = 0; i < 3; ++i) forecast.used(0, 16);
    forecast.used(1, 48);
    EXPECT_NEAR(forecast.value(0) / forecast.value(1), (1 + 3 * 2) / 8.0, 1e-12);
    EXPECT_FALSE(forecast.used(1, 49)) << "what the others are worth to each other stays";
}

// Expert 0 was used `before` times in a row, then expert 1 once: what 1 is worth against 0.
double one_late_use_against(int before, UseForecast forecast, int64_t time) {
    for (int i = 0; i < before; ++i) forecast.used(0, ++time);
    for (int i = 0; i < 20; ++i) forecast.used(2, ++time);
    forecast.used(1, ++time);
    return forecast.value(1) / forecast.value(0);
}

TEST(UseForecast, TopicsThatChangeTeachAShorterMemoryThanExpertsThatStay) {
    std::mt19937 random(1);
    UseForecast changing(40, k_half_life, true), staying(40, k_half_life, true);
    for (int64_t time = 0; time < 2000; ++time) {
        changing.used(3 + (static_cast<size_t>(time) / 8) % 37, time);
        staying.used(3 + random() % 37, time);
    }
    EXPECT_GT(one_late_use_against(10, changing, 2000), 2 * one_late_use_against(10, staying, 2000));
}

TEST(UseForecast, EqualHistoriesAreWorthTheSame) {
    UseForecast forecast(3, k_half_life, true);
    for (const int64_t time : {0, 1, 5, 900, 901, 9000, 40'000}) {
        forecast.used(0, time), forecast.used(1, time);
        if (time % 2 == 0) forecast.used(2, time);
        EXPECT_EQ(forecast.value(0), forecast.value(1)) << time;
        EXPECT_GE(forecast.value(0), forecast.value(2)) << time;
        EXPECT_TRUE(std::isfinite(forecast.value(0)));
    }
}

TEST(UseForecast, ValuesAreOfTheSameOrderBeforeAndAfterNumbersAreScaledDown) {
    // The shortest half-life is 4: every 2,048 tokens.
    UseForecast forecast(2, k_half_life, true);
    for (int64_t time = 0; time < 5000; ++time) {
        forecast.used(time % 3 == 0, time);
        if (time < 100) continue;
        EXPECT_GT(forecast.value(0), forecast.value(1)) << time;
    }
}

// Few of 64 experts of each layer are popular, and others after each `stay` tokens.
Trace routes(int64_t stay) {
    std::mt19937 random(7);
    TraceRecorder recorder({.model = "random", .n_layers = 4, .n_experts = 64, .top_k = 4, .n_prompt = 32});
    int popular = 0;
    for (int64_t token = 0; token < 1500; ++token) {
        if (token % stay == 0) popular = static_cast<int>(random() % 64);
        for (int layer = 0; layer < 4; ++layer) {
            std::vector<int> chosen;
            while (chosen.size() < 4) {
                const double u = std::uniform_real_distribution<>(0, 1)(random);
                const int expert = (popular + static_cast<int>(64 * u * u * u)) % 64;
                if (std::find(chosen.begin(), chosen.end(), expert) == chosen.end()) chosen.push_back(expert);
            }
            recorder.add(layer, token, chosen);
        }
    }
    return recorder.finish();
}

TEST(UseForecast, BeatsTheOneMemoryWhereItIsTooLongAndWhereItIsTooShort) {
    const ReplayPolicy lfu{"lfu", "", find_policy("lfu")};
    for (const int64_t stay : {int64_t{12}, int64_t{1500}}) {
        const Trace trace = routes(stay);
        const Replayer replayer(trace, one_slot_class(trace));
        const double learned = replayer.run(lfu, trace.demand_slots(), {}).hit_rate();
        const double fixed = replayer.run(lfu, trace.demand_slots(), {.learns = false}).hit_rate();
        EXPECT_GT(learned, fixed + 0.005) << stay;
    }
}

}  // namespace

}  // namespace ft
