#include "base/size_text.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace ft {
namespace {

TEST(SizeText, HasTwoDecimalsOfGibAndWholeMib) {
    EXPECT_EQ(size_text(8 * k_gib), "8.00 GiB");
    EXPECT_EQ(size_text(199 * k_gib + 7 * k_gib / 10), "199.70 GiB");
    EXPECT_EQ(size_text(k_gib - k_mib), "1023 MiB");
    EXPECT_EQ(size_text(k_gib - 1), "1.00 GiB");
    EXPECT_EQ(size_text(93 * k_mib + 300 * k_kib), "93 MiB");
    EXPECT_EQ(size_text(12 * k_kib), "12 KiB");
    EXPECT_EQ(size_text(1023), "1023 B");
    EXPECT_EQ(size_text(0), "0 B");
}

TEST(SizeText, TellsExpertsApart) {
    EXPECT_EQ(size_text(1769472), "1.69 MiB");
    EXPECT_EQ(size_text(2039808), "1.95 MiB");
    EXPECT_EQ(size_text(10 * k_mib - 1), "10 MiB");
    EXPECT_EQ(size_text(k_mib - 1), "1.00 MiB");
    EXPECT_EQ(size_text(4608), "4.50 KiB");
}

TEST(SizeText, WhatIsNeededIsRoundedUp) {
    EXPECT_EQ(size_text_up(8 * k_gib), "8.00 GiB");
    EXPECT_EQ(size_text_up(8 * k_gib + 1), "8.01 GiB");
    EXPECT_EQ(size_text_up(93 * k_mib), "93 MiB");
    EXPECT_EQ(size_text_up(93 * k_mib + 1), "94 MiB");
    EXPECT_EQ(size_text_up(k_gib - 1), "1.00 GiB");
}

}  // namespace
}  // namespace ft
