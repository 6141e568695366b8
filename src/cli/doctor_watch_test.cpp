// What samples of a running program are worth: made-up minutes.
#include "cli/doctor_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"

namespace ft::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t k_much = 8 * k_gib;

RunStatus generating_at(double tokens_per_second) {
    RunStatus status;
    status.generating = true;
    status.tokens_per_second = tokens_per_second;
    return status;
}

TEST(DoctorWatch, GrowthIsJudgedAfterTheFirstMinuteOnly) {
    Watched w;
    w.take_memory(0, k_gib, k_much);
    w.take_memory(59, 2 * k_gib, k_much);
    EXPECT_THAT(w.verdict({}).failed, IsEmpty());
    EXPECT_THAT(w.verdict({}).unjudged, ElementsAre(HasSubstr("after the first minute")));
    w.take_memory(60, 2 * k_gib, k_much);
    EXPECT_THAT(w.verdict({}).failed, IsEmpty());
    EXPECT_THAT(w.verdict({}).unjudged, IsEmpty());
    w.take_memory(61, 3 * k_gib, k_much);
    EXPECT_THAT(w.verdict({}).failed, ElementsAre(HasSubstr("grew from 2.000 to 3.000 GiB")));
}

TEST(DoctorWatch, AMarginThatIsUndercutFailsAtAnyTime) {
    Watched w;
    RunStatus status;
    status.ram_margin = k_gib;
    w.take_memory(0, k_gib, k_gib / 2);
    w.take_status(0, status);
    EXPECT_THAT(w.verdict({}).failed, ElementsAre(HasSubstr("less than the margin of 1.00 GiB")));
}

TEST(DoctorWatch, SpeedIsJudgedWhereTokensWereGenerated) {
    Watched w;
    w.take_memory(0, k_gib, k_much);
    w.take_memory(61, k_gib, k_much);
    EXPECT_THAT(w.verdict({}).unjudged, IsEmpty());
    EXPECT_THAT(w.verdict(5).unjudged, ElementsAre(HasSubstr("does not say how fast")));
    w.take_status(61, {});
    EXPECT_THAT(w.verdict({}).unjudged, ElementsAre(HasSubstr("no token was generated")));
    EXPECT_THAT(w.verdict(5).unjudged, ElementsAre(HasSubstr("no token was generated")));
    EXPECT_THAT(w.verdict(5).failed, IsEmpty());
    w.take_status(62, generating_at(4));
    EXPECT_THAT(w.verdict(5).failed, ElementsAre(HasSubstr("4.00 tok/s while generating, less than 5.00")));
    EXPECT_THAT(w.verdict(3).failed, IsEmpty());
    EXPECT_THAT(w.verdict({}).failed, IsEmpty()) << "there is no first minute to compare with";
}

TEST(DoctorWatch, WithoutAFloorHalfOfTheFirstMinutesSpeedIsTheLeast) {
    Watched w;
    w.take_status(59, generating_at(10));
    w.take_status(70, generating_at(6));
    EXPECT_THAT(w.verdict({}).failed, IsEmpty());
    w.take_status(80, generating_at(4));
    EXPECT_THAT(w.verdict({}).failed, ElementsAre(HasSubstr("less than 5.00")));
}

}  // namespace
}  // namespace ft::cli
