#include "config/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace ft {
namespace {

TEST(EditDistance, CountsEditsAndSwaps) {
    EXPECT_EQ(edit_distance("", ""), 0);
    EXPECT_EQ(edit_distance("", "abc"), 3);
    EXPECT_EQ(edit_distance("abc", ""), 3);
    EXPECT_EQ(edit_distance("show", "shwo"), 1);
    EXPECT_EQ(edit_distance("--max-token", "--max-tokens"), 1);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
    EXPECT_EQ(edit_distance("ram_bugdet", "ram_budget"), 1);
}

TEST(NearestName, FindsTheNearAndOnlyTheNear) {
    const std::vector<std::string> names = {"show", "run", "tokenize", "detokenize", "bench"};
    EXPECT_EQ(nearest_name("shwo", names), "show");
    EXPECT_EQ(nearest_name("tokenise", names), "tokenize");
    EXPECT_EQ(nearest_name("rnu", names), "run");
    EXPECT_EQ(nearest_name("elephant", names), "");
    EXPECT_EQ(nearest_name("rn", names), "run");
    EXPECT_EQ(nearest_name("rum", names), "run");
    EXPECT_EQ(nearest_name("rm", names), "");  // "run" has two letters more or other
    EXPECT_EQ(nearest_name("xy", names), "");  // two edits of two letters are no likeness
    const std::vector<std::string> flags = {"--template", "--temp", "--port", "--help", "--set"};
    for (const char* far : {"--temprature", "--lora", "--keep", "--numa"})
        EXPECT_EQ(nearest_name(far, flags), "") << far;
    EXPECT_EQ(nearest_name("--templaet", flags), "--template");
    EXPECT_EQ(nearest_name("--prot", flags), "--port");
    EXPECT_EQ(nearest_name("", names), "");
    EXPECT_EQ(nearest_name(std::string(1 << 20, 'x'), names), "");
    EXPECT_EQ(did_you_mean("shwo", names), "Did you mean show?");
}

}  // namespace
}  // namespace ft
