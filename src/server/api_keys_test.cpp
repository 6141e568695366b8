#include "server/api_keys.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ft {

namespace {

class ApiKeysTest : public ::testing::Test {
 protected:
    void write(const std::string& text) { std::ofstream(path_) << text; }
    void TearDown() override { std::filesystem::remove(path_); }
    const std::string path_ = ::testing::TempDir() + "api_keys_test";
};

TEST_F(ApiKeysTest, OnlyWholeKeysOfTheFileAreAccepted) {
    write("# for the office\n  right-key \r\n\nother-key\n");
    const auto keys = ApiKeys::load(path_);
    ASSERT_TRUE(keys) << keys.error().sentence();
    EXPECT_EQ((*keys)->size(), 2u);
    for (const char* key : {"right-key", "other-key"}) EXPECT_TRUE((*keys)->accepts(key)) << key;
    for (const char* key : {"", "right-ke", "right-key2", "wrong-key", "# for the office"})
        EXPECT_FALSE((*keys)->accepts(key)) << key;
}

TEST_F(ApiKeysTest, AFileIsReadAgainAndABrokenOneChangesNothing) {
    write("first\n");
    const auto keys = ApiKeys::load(path_);
    ASSERT_TRUE(keys);
    write("second\n");
    EXPECT_TRUE((*keys)->reload());
    EXPECT_FALSE((*keys)->accepts("first"));
    EXPECT_TRUE((*keys)->accepts("second"));
    write("\n");
    EXPECT_FALSE((*keys)->reload());
    EXPECT_TRUE((*keys)->accepts("second"));
}

TEST_F(ApiKeysTest, WithoutAFileNoKeyIsNeeded) {
    const auto keys = ApiKeys::load("");
    ASSERT_TRUE(keys);
    EXPECT_FALSE((*keys)->needed());
    EXPECT_TRUE((*keys)->accepts(""));
    const auto missing = ApiKeys::load("/nowhere/keys");
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().what.find("/nowhere/keys"), std::string::npos);
}

TEST(BearerKey, OfTheSchemeAlone) {
    EXPECT_EQ(bearer_key("Bearer abc"), "abc");
    EXPECT_EQ(bearer_key("bearer  abc "), "abc");
    EXPECT_EQ(bearer_key("Basic abc"), "");
    EXPECT_EQ(bearer_key("Bearer "), "");
    EXPECT_EQ(bearer_key(""), "");
}

}  // namespace

}  // namespace ft
