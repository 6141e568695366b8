#include "grammar/code_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/utf8.h"

namespace ft::grammar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool holds(const CodeSet& set, char32_t code) {
    return std::ranges::any_of(set, [&](const CodeRange& r) { return r.first <= code && code <= r.last; });
}

bool holds_bytes(const std::vector<ByteRanges>& all, std::string_view bytes) {
    return std::ranges::any_of(all, [&](const ByteRanges& ranges) {
        if (ranges.size() != bytes.size()) return false;
        for (size_t i = 0; i < bytes.size(); i++) {
            const auto byte = static_cast<uint8_t>(bytes[i]);
            if (byte < ranges[i].first || byte > ranges[i].last) return false;
        }
        return true;
    });
}

TEST(CodeSet, NormalSetsRiseWithoutTouching) {
    EXPECT_THAT(normal({{'x', 'z'}, {'a', 'c'}, {'d', 'f'}, {'b', 'e'}}),
                ElementsAre(CodeRange{'a', 'f'}, CodeRange{'x', 'z'}));
    EXPECT_THAT(normal({{'b', 'a'}}), IsEmpty());
    EXPECT_THAT(
        normal({{0xD000, 0xE001}, {0x10FFFE, 0x7FFFFFFF}}),
        ElementsAre(CodeRange{0xD000, 0xD7FF}, CodeRange{0xE000, 0xE001}, CodeRange{0x10FFFE, 0x10FFFF}));
}

TEST(CodeSet, ComplementAndCommon) {
    EXPECT_THAT(complement({{0, 'a'}, {'c', 0x10FFFF}}), ElementsAre(CodeRange{'b', 'b'}));
    EXPECT_THAT(complement({}), ElementsAre(CodeRange{0, 0xD7FF}, CodeRange{0xE000, 0x10FFFF}));
    EXPECT_THAT(complement(complement({})), IsEmpty());
    EXPECT_THAT(common({{'a', 'm'}, {'x', 'x'}}, {{'k', 'z'}}),
                ElementsAre(CodeRange{'k', 'm'}, CodeRange{'x', 'x'}));
}

TEST(CodeSet, Utf8RangesAreTheCharactersOfTheSetAndNoOthers) {
    std::mt19937 random(3);
    const auto any_code = [&] {
        const int bits = std::uniform_int_distribution(1, 21)(random);
        return static_cast<char32_t>(random() % (1u << bits));
    };
    for (int round = 0; round < 60; round++) {
        CodeSet set;
        for (int i = 0; i < 3; i++) {
            const char32_t a = any_code(), b = any_code();
            set.push_back({std::min(a, b), std::max(a, b)});
        }
        set = normal(set);
        const std::vector<ByteRanges> ranges = utf8_ranges(set);
        std::vector<char32_t> probes = {0,      0x7F,   0x80,   0x7FF,   0x800,
                                        0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
        for (const CodeRange& r : set)
            for (const char32_t at : {r.first, r.last})
                for (int step = -1; step <= 1; step++) probes.push_back(at + static_cast<char32_t>(step));
        for (int i = 0; i < 200; i++) probes.push_back(any_code());
        for (const char32_t code : probes) {
            if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) continue;
            std::string bytes;
            append_utf8(bytes, code);
            EXPECT_EQ(holds_bytes(ranges, bytes), holds(set, code)) << static_cast<uint32_t>(code);
        }
    }
}

}  // namespace
}  // namespace ft::grammar
