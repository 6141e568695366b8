#include "engine/step_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/lanes.h"
#include "engine/step_pace.h"

namespace ft {
namespace {

StepNeed need(int64_t pending, Lane lane = Lane::interactive, int64_t most = 1000000) {
    return {.lane = lane, .pending = pending, .most = most};
}

std::vector<int64_t> rows_of(std::vector<StepNeed> needs, const StepLimits& limits, uint64_t turn = 0) {
    plan_step(needs, limits, turn);
    std::vector<int64_t> rows;
    for (const StepNeed& n : needs) rows.push_back(n.rows);
    return rows;
}

using Rows = std::vector<int64_t>;

TEST(StepPlan, SingleTokensComeFirstAndPromptsShareTheRestInEqualParts) {
    EXPECT_EQ(rows_of({need(500), need(1), need(40), need(1)}, {.rows = 200, .prompt_rows = 200}),
              (Rows{158, 1, 40, 1}));
    EXPECT_EQ(rows_of({need(500), need(500)}, {.rows = 100, .prompt_rows = 64}), (Rows{32, 32}));
    EXPECT_EQ(rows_of({need(500, Lane::interactive, 7)}, {.rows = 100, .prompt_rows = 64}), (Rows{7}));
}

TEST(StepPlan, TheBatchLaneKeepsAQuarterOfThePromptRows) {
    EXPECT_EQ(rows_of({need(500), need(500, Lane::batch)}, {.rows = 100, .prompt_rows = 100}),
              (Rows{75, 25}));
    EXPECT_EQ(rows_of({need(10), need(500, Lane::batch)}, {.rows = 100, .prompt_rows = 100}), (Rows{10, 90}));
}

TEST(StepPlan, NobodyStarvesWhereThereAreFewerRowsThanSequences) {
    const std::vector<StepNeed> singles = {need(1), need(1), need(1)};
    Rows sum(3, 0);
    for (uint64_t turn = 0; turn < 6; turn++) {
        const Rows rows = rows_of(singles, {.rows = 1, .prompt_rows = 1}, turn);
        for (size_t i = 0; i < 3; i++) sum[i] += rows[i];
    }
    EXPECT_EQ(sum, (Rows{2, 2, 2}));
    int64_t batch = 0;
    for (uint64_t turn = 0; turn < 8; turn++)
        batch += rows_of({need(500), need(500, Lane::batch)}, {.rows = 1, .prompt_rows = 1}, turn)[1];
    EXPECT_EQ(batch, 2);
}

TEST(StepPace, CutsPromptsSoThatAStepLastsNoLonger) {
    StepPace pace(0.25);
    EXPECT_GT(pace.prompt_rows(0), 1000000);
    // 50 ms for the single tokens, 2 ms for each row of a prompt
    for (int i = 0; i < 40; i++) {
        pace.took(0.05, 4, 0);
        const int64_t rows = pace.prompt_rows(4);
        pace.took(0.05 + 0.002 * static_cast<double>(rows), 4, rows);
    }
    // 200 ms are planned, so that a step that takes a quarter longer still keeps the 250
    EXPECT_NEAR(static_cast<double>(pace.prompt_rows(4)), 75, 4);
    for (int i = 0; i < 40; i++) pace.took(1.0, 4, 0);
    EXPECT_EQ(pace.prompt_rows(4), StepPace::k_least);
}

TEST(Lanes, EachLaneHasItsSlotsAndFreeOnesOfTheBatchLaneServeBoth) {
    Lanes lanes({.batch_size = 4, .interactive_slots = 2});
    lanes.of(Lane::batch).waiting = 10;
    for (int i = 0; i < 2; i++) {
        ASSERT_EQ(lanes.next(), Lane::batch);
        lanes.start(Lane::batch, {});
    }
    EXPECT_EQ(lanes.next(), std::nullopt);  // the others are for people
    lanes.of(Lane::interactive).waiting = 10;
    for (int i = 0; i < 2; i++) {
        ASSERT_EQ(lanes.next(), Lane::interactive);
        lanes.start(Lane::interactive, {});
    }
    EXPECT_EQ(lanes.next(), std::nullopt);
    lanes.of(Lane::batch).running--;
    EXPECT_EQ(lanes.next(), Lane::batch);  // its own slot, though interactive requests wait too
    lanes.of(Lane::batch).waiting = 0;
    EXPECT_EQ(lanes.next(), Lane::interactive);
}

TEST(Lanes, AFirstRequestThatWaitsForMemoryIsPassedAFewTimesOnly) {
    Lanes lanes({.batch_size = 4, .interactive_slots = 2});
    lanes.of(Lane::batch).waiting = 1;
    int passed = 0;
    for (; passed < 100; passed++) {
        lanes.of(Lane::interactive).waiting = 1;
        if (!lanes.may_pass(Lane::batch)) break;
        lanes.start(Lane::interactive, Lane::batch);
        lanes.of(Lane::interactive).running--;
    }
    EXPECT_GT(passed, 0);
    EXPECT_LT(passed, 20);
    lanes.start(Lane::batch, {});
    lanes.of(Lane::batch).waiting = 1;
    EXPECT_TRUE(lanes.may_pass(Lane::batch));
}

}  // namespace
}  // namespace ft
