#include "text/nfc.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <random>

#include "base/utf8.h"

namespace ft {
namespace {

std::string by_utf8proc(const std::string& text) {
    utf8proc_uint8_t* out = nullptr;
    const auto n = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                static_cast<utf8proc_ssize_t>(text.size()), &out,
                                static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    std::string result(reinterpret_cast<const char*>(out), n < 0 ? 0 : static_cast<size_t>(n));
    std::free(out);
    return result;
}

TEST(Nfc, ComposesAndReplaces) {
    EXPECT_EQ(to_nfc("e\u0301"), "\u00E9");
    EXPECT_EQ(to_nfc("\u212B"), "\u00C5");              // ANGSTROM SIGN is a singleton
    EXPECT_EQ(to_nfc("\u1100\u1161\u11A8"), "\uAC01");  // hangul
    EXPECT_EQ(to_nfc("q\u0307\u0323"), "q\u0323\u0307");
    EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093C");  // excluded from composition
    EXPECT_EQ(to_nfc(""), "");
    EXPECT_EQ(to_nfc("a\u0301\u0323 b"), "\u1EA1\u0301 b");
}

TEST(Nfc, AgreesWithTheLibraryOnRandomText) {
    struct Range {
        uint32_t first, size;
    };
    constexpr Range ranges[] = {{0, 0x250},    {0x300, 0x70},   {0x1100, 0x100}, {0xAC00, 0x2BA4},
                                {0x900, 0x80}, {0x1E00, 0x200}, {0x2100, 0x50},  {0x1D150, 0x60}};
    std::mt19937 random(3);
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (uint32_t i = 0; i < random() % 12; ++i) {
            const Range& range = ranges[random() % std::size(ranges)];
            append_utf8(text, range.first + static_cast<uint32_t>(random()) % range.size);
        }
        ASSERT_EQ(to_nfc(text), by_utf8proc(text));
        ASSERT_TRUE(!surely_nfc(text) || to_nfc(text) == text);
    }
}

TEST(Nfc, ALongRunOfMarksIsSorted) {
    std::string text = "a", want = "\u1EA1";
    for (int i = 0; i < 200'000; ++i) text += "\u0301\u0323";
    for (int i = 1; i < 200'000; ++i) want += "\u0323";
    for (int i = 0; i < 200'000; ++i) want += "\u0301";
    EXPECT_TRUE(to_nfc(text) == want);
}

TEST(Nfc, SureOfWhatCannotChange) {
    EXPECT_TRUE(surely_nfc("plain \u00E9 \u02FF"));
    EXPECT_FALSE(surely_nfc("e\u0301"));
}

}  // namespace
}  // namespace ft
