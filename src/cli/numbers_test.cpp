#include "cli/numbers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ft::cli {
namespace {

// What a validator makes of a text; its complaint begins with '!'.
std::string checked(const CLI::Validator& validator, std::string text) {
    const std::string complaint = validator(text);
    return complaint.empty() ? text : "!" + complaint;
}

TEST(Numbers, WholeNumbersAreDecimal) {
    const CLI::Validator validator = whole_number(0, 100);
    EXPECT_EQ(checked(validator, "010"), "10");
    EXPECT_EQ(checked(validator, "100"), "100");
    EXPECT_EQ(checked(validator, "-0"), "0");
    for (const char* text : {"101", "-1", "0x10", "1e1", "1.5", "", " 1", "ten", "99999999999999999999"})
        EXPECT_EQ(checked(validator, text), fmt::format("!{} is no number from 0 to 100", text));
}

TEST(Numbers, RealNumbersAreFiniteAndInTheRange) {
    const CLI::Validator validator = real_number(0.5, 1e6);
    EXPECT_EQ(checked(validator, "0.75"), "0.75");
    EXPECT_EQ(checked(validator, "1e3"), "1000");
    for (const char* text : {"nan", "-nan", "inf", "0.4", "2e6", "1,5", "", "0x1p3"})
        EXPECT_TRUE(checked(validator, text).starts_with('!')) << text;
    EXPECT_EQ(checked(real_number(0.5, 1024, "GiB"), "8GB"), "!8GB is no number of GiB from 0.5 to 1024");
}

}  // namespace
}  // namespace ft::cli
