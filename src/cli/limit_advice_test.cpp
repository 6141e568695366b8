// The advice names the resource that held an answer up, and keeps quiet where none clearly did.
#include "cli/limit_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/live_stats.h"

namespace ft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LimitFacts ten_seconds() {
    LimitFacts facts;
    facts.timings.prompt_n = 10;
    facts.timings.prompt_ms = 1000;
    facts.timings.predicted_n = 90;
    facts.timings.predicted_ms = 9000;
    facts.timings.bytes_per_token = 1'000'000'000;  // 10 GB/s
    facts.timings.experts = CacheStats{
        .hits = 90, .misses = 10, .bytes_read = 5'000'000'000, .read_seconds = 5, .wait_seconds = 1};
    facts.foreign_cpu = 0.01;
    facts.ram_gb_per_second = 30;
    facts.threads = facts.cores = 2;
    return facts;
}

TEST(LimitAdvice, NothingWhereNothingIsClear) { EXPECT_EQ(limit_advice(ten_seconds()).limit, ""); }

TEST(LimitAdvice, TheDrive) {
    LimitFacts facts = ten_seconds();
    facts.timings.experts->wait_seconds = 6;
    EXPECT_THAT(limit_advice(facts).sentence,
                AllOf(HasSubstr("drive is the limit: 6 of 10 s"), HasSubstr("memory.swap_dir")));
    facts.swap_dir_unused = true;
    EXPECT_THAT(limit_advice(facts).sentence, AllOf(HasSubstr("--ram"), Not(HasSubstr("swap_dir"))));
    facts.timings.experts.reset();
    EXPECT_EQ(limit_advice(facts).limit, "");
}

TEST(LimitAdvice, TheProcessors) {
    LimitFacts facts = ten_seconds();
    facts.foreign_cpu = 0.5;
    EXPECT_THAT(limit_advice(facts).sentence, HasSubstr("other programs used 50 %"));
    facts = ten_seconds();
    facts.threads = 1;
    EXPECT_THAT(limit_advice(facts).sentence, HasSubstr("--threads 2"));
}

TEST(LimitAdvice, TheMemory) {
    LimitFacts facts = ten_seconds();
    facts.ram_gb_per_second = 12;
    EXPECT_THAT(limit_advice(facts).sentence, HasSubstr("Memory bandwidth is the limit: 9.9 of 12.0 GB/s"));
    facts.ram_gb_per_second = 0;
    EXPECT_EQ(limit_advice(facts).limit, "");
}

TEST(LimitAdvice, QuietAfterAShortAnswer) {
    LimitFacts facts = ten_seconds();
    facts.timings.prompt_ms = 100;
    facts.timings.predicted_ms = 900;
    facts.foreign_cpu = 0.9;
    EXPECT_EQ(limit_advice(facts).limit, "");
}

TEST(LiveStats, LinesNameEveryTier) {
    const CacheStats experts{
        .hits = 90, .misses = 10, .bytes_read = 5'000'000'000, .read_seconds = 5, .wait_seconds = 1};
    EXPECT_EQ(tier_line(experts),
              "90 of 100 experts found in RAM (90.0 %), 10 from the drive; 4.66 GiB read at 1.00 GB/s, 1.0 s "
              "waited for it");
    EXPECT_THAT(live_line(21, 2, &experts),
                HasSubstr("10.0 tok/s; experts 90 % in RAM, 10 % from the drive"));
    EXPECT_EQ(live_line(21, 2, nullptr), "21 tokens, 10.0 tok/s; all experts in RAM");
    EXPECT_EQ(live_line(1, 1e-6, nullptr), "1 token; all experts in RAM") << "one token has no rate";
}

TEST(LiveStats, ALineInANarrowTerminalLosesWholeParts) {
    const CacheStats experts{
        .hits = 36, .misses = 64, .bytes_read = 130'000'000, .read_seconds = 0.1, .wait_seconds = 0.2};
    const std::string line = live_line(21, 2, &experts);
    EXPECT_EQ(fitted_line(line, line.size()), line);
    EXPECT_EQ(fitted_line(line, line.size() - 1),
              "21 tokens, 10.0 tok/s; experts 36 % in RAM, 64 % from the drive; 124 MiB read at 1.30 GB/s");
    EXPECT_EQ(fitted_line(line, 79), "21 tokens, 10.0 tok/s; experts 36 % in RAM, 64 % from the drive");
    EXPECT_EQ(fitted_line(line, 59), "21 tokens, 10.0 tok/s; experts 36 % in RAM");
    EXPECT_EQ(fitted_line(line, 12), "21 tokens");
    EXPECT_EQ(fitted_line(line, 8), "");
}

}  // namespace
}  // namespace ft::cli
