// When slots give memory back, and when they take it again.
#include "tiers/memory_watch.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace ft {
namespace {

constexpr uint64_t k_margin = 1000;

TEST(MemoryWatch, TheMarginIsWhatIsLeftOverAndNoMoreThanThirtyPercent) {
    EXPECT_EQ(memory_margin(100 * k_gib, 90 * k_gib), 30 * k_gib);
    EXPECT_EQ(memory_margin(100 * k_gib, 10 * k_gib), 5 * k_gib);
    EXPECT_EQ(memory_margin(128 * k_gib, 0), k_gib);
}

TEST(MemoryWatch, GivesBackAtOnceAndALittleMore) {
    MemoryWatch watch(k_margin);
    EXPECT_EQ(watch.change(0, k_margin, 0), 0);
    EXPECT_EQ(watch.change(1, k_margin - 400, 0), -(400 + 125));
    EXPECT_EQ(watch.change(2, 0, 525), -(1000 + 125));
}

TEST(MemoryWatch, TakesAgainOnlyAfterCalmSecondsAndKeepsMoreThanTheMargin) {
    MemoryWatch watch(k_margin);
    EXPECT_EQ(watch.change(10, 2000, 700), 0);
    EXPECT_EQ(watch.change(13, 2000, 700), 0);
    EXPECT_EQ(watch.change(14, k_margin + 10, 700), 0) << "not roomy enough: the calm begins anew";
    EXPECT_EQ(watch.change(15, 2000, 700), 0);
    EXPECT_EQ(watch.change(19, 2000, 700), 0);
    EXPECT_EQ(watch.change(20, 2000, 700), 700);
    EXPECT_EQ(watch.change(21, 1500, 700), 250) << "no more than leaves a quarter above the margin";
    EXPECT_EQ(watch.change(22, 5000, 0), 0) << "nothing was given back";
}

TEST(MemoryWatch, WhatItTakesDoesNotMakeItGiveBack) {
    MemoryWatch watch(k_margin);
    uint64_t given = 900, available = 1600;
    for (int second = 0; second < 60; second++) {
        const int64_t change = watch.change(second, available, given);
        EXPECT_GE(change, 0) << second;
        given -= static_cast<uint64_t>(change);
        available -= static_cast<uint64_t>(change);
    }
    EXPECT_EQ(available, k_margin + k_margin / 4);
}

TEST(MemoryWatch, LooksAtMostEveryHalfSecond) {
    MemoryWatch watch(k_margin);
    EXPECT_TRUE(watch.is_due(100));
    watch.change(100, 5000, 0);
    EXPECT_FALSE(watch.is_due(100.4));
    EXPECT_TRUE(watch.is_due(100.5));
}

}  // namespace
}  // namespace ft
