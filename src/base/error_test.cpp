#include "base/error.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace ft {
namespace {

TEST(Error, SentenceNamesThingAndRemedyOnOneLine) {
    const Error error{Code::invalid, "bad key 'a\nb'", "Use c."};
    EXPECT_EQ(error.sentence(), "bad key 'a\\x0ab'. Use c.");
    EXPECT_EQ(error.within("f.gguf").sentence(), "f.gguf: bad key 'a\\x0ab'. Use c.");
}

TEST(Error, ExitStatusFollowsTheCode) {
    EXPECT_EQ(exit_status(Error{Code::invalid, "", ""}), 2);
    EXPECT_EQ(exit_status(Error{Code::io, "", ""}), 2);
    EXPECT_EQ(exit_status(Error{Code::negative, "", ""}), 1);
    EXPECT_EQ(exit_status(Error{Code::internal, "", ""}), 70);
}

TEST(Expected, HoldsValueOrError) {
    Expected<int> good = 3;
    ASSERT_TRUE(good);
    EXPECT_EQ(*good, 3);
    const Expected<int> bad = Error{Code::io, "no", ""};
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, Code::io);
}

TEST(Bytes, SizesThatWrapAreSeen) {
    EXPECT_EQ(checked_mul(uint64_t{1} << 32, uint64_t{1} << 31), uint64_t{1} << 63);
    EXPECT_FALSE(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32));
    EXPECT_FALSE(checked_add(~uint64_t{0}, 1));
    EXPECT_EQ(round_up(65, 64), 128u);
    EXPECT_EQ(ceil_div(7, 3), 3);
}

}  // namespace
}  // namespace ft
