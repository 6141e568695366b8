#include "cli/pull_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RemoteModel remote_of(const char* quantisation, bool dense) {
    return {.quantisation = quantisation, .dense = dense, .wrong = {}, .plan = {}};
}

TEST(RemoteWarnings, DenseModelsAndThoseBelowFourBits) {
    for (const char* good : {"Q4_K_M", "IQ4_XS", "Q8_0", "F16", "MXFP4", ""})
        EXPECT_THAT(remote_warnings(remote_of(good, false)), IsEmpty()) << good;
    for (const char* low : {"Q3_K_M", "Q2_K", "IQ3_XXS", "IQ1_S", "TQ1_0"})
        EXPECT_THAT(remote_warnings(remote_of(low, false)),
                    ElementsAre(testing::AllOf(HasSubstr(low), HasSubstr("less than 4 bits"))))
            << low;
    EXPECT_THAT(remote_warnings(remote_of("Q2_K", true)),
                ElementsAre(HasSubstr("dense"), HasSubstr("4 bits")));
}

TEST(CheckRunsHere, SaysWhyNotAndHowToInsist) {
    EXPECT_TRUE(check_runs_here(remote_of("Q4_K_M", false), "m.gguf"));
    RemoteModel other = remote_of("Q4_K_M", false);
    other.wrong = Error{Code::unsupported, "m.gguf: the architecture is not known", "Update the program."};
    const Status wrong = check_runs_here(other, "m.gguf");
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().sentence(), HasSubstr("--force"));
    RemoteModel large = remote_of("Q4_K_M", false);
    large.plan.emplace();
    large.plan->fits = false;
    large.plan->shortage = "3.0 GiB are missing";
    const Status big = check_runs_here(large, "m.gguf");
    ASSERT_FALSE(big);
    EXPECT_THAT(big.error().sentence(),
                testing::AllOf(HasSubstr("m.gguf does not fit"), HasSubstr("3.0 GiB"), HasSubstr("--force")));
}

}  // namespace
}  // namespace ft::cli
