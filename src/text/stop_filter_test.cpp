#include "text/stop_filter.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

using Pieces = std::vector<std::string>;

// What is shown after each piece, and at the end.
Pieces shown(const Pieces& stops, const Pieces& pieces) {
    StopFilter filter(stops);
    Pieces out;
    for (const std::string& piece : pieces) out.push_back(filter.push(piece));
    out.push_back(filter.finish());
    return out;
}

TEST(StopFilter, HoldsBackWhatMayBeginAStopText) {
    EXPECT_EQ(shown({"</end>"}, {"a</", "en", "d", "x"}), Pieces({"a", "", "", "</endx", ""}));
    EXPECT_EQ(shown({"</end>"}, {"a</", "en", "d>", "x"}), Pieces({"a", "", "", "", ""}));
    EXPECT_EQ(shown({"</end>"}, {"a</en"}), Pieces({"a", "</en"}));  // the text ended meanwhile
    EXPECT_EQ(shown({"aab"}, {"a", "a", "a", "b"}), Pieces({"", "", "a", "", ""}));
}

TEST(StopFilter, NothingIsHeldBackWithoutStopTexts) {
    EXPECT_EQ(shown({}, {"a", "</"}), Pieces({"a", "</", ""}));
    EXPECT_EQ(shown({""}, {"a", "</"}), Pieces({"a", "</", ""}));
}

TEST(StopFilter, SaysWhichOneCame) {
    StopFilter filter({"one", "two"});
    EXPECT_EQ(filter.push("a tw"), "a ");
    EXPECT_FALSE(filter.stopped());
    EXPECT_EQ(filter.push("o b"), "");
    EXPECT_TRUE(filter.stopped());
    EXPECT_EQ(filter.stop_text(), "two");
    EXPECT_EQ(filter.push("one"), "");
    EXPECT_EQ(filter.finish(), "");
}

// All ways to cut a text in two and three give the same.
TEST(StopFilter, TheCutsDoNotMatter) {
    struct Case {
        Pieces stops;
        std::string text, expected, stop;
    };
    const std::vector<Case> cases = {
        {{"bcd", "c"}, "abcde", "ab", "c"},          // complete first
        {{"c", "bc", "abc"}, "xabcde", "x", "abc"},  // complete together: the longest
        {{"ab", "abc"}, "xabc", "x", "ab"},
        {{"\n\nUser:"}, "one\n\n\nUser: two", "one\n", "\n\nUser:"},
        {{"停止"}, "请停下停止。", "请停下", "停止"},
        {{"zz"}, "abcz", "abcz", ""},
    };
    for (const Case& c : cases)
        for (size_t i = 0; i <= c.text.size(); i++)
            for (size_t j = i; j <= c.text.size(); j++) {
                StopFilter filter(c.stops);
                std::string got = filter.push(c.text.substr(0, i));
                got += filter.push(c.text.substr(i, j - i));
                got += filter.push(c.text.substr(j));
                EXPECT_EQ(filter.stop_text(), c.stop) << c.text << " " << i << " " << j;
                EXPECT_EQ(got + filter.finish(), c.expected) << c.text << " " << i << " " << j;
            }
}

}  // namespace
}  // namespace ft
