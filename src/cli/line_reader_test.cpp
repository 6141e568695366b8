#include "cli/line_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

namespace ft::cli {
namespace {

using Got = LineReader::Got;

struct Line {
    Got got;
    std::string text;
    bool operator==(const Line&) const = default;
};

std::vector<Line> lines_of(const std::string& content, size_t longest) {
    const std::string path = testing::TempDir() + "freetoken-line-reader-test.txt";
    std::ofstream(path, std::ios::binary) << content;
    Expected<LineReader> reader = LineReader::open(path, longest);
    check(static_cast<bool>(reader), "the file of the test");
    std::vector<Line> lines;
    std::string text;
    for (;;) {
        const Expected<Got> got = reader->next(text);
        check(static_cast<bool>(got), "a line of the test");
        if (*got == Got::end) break;
        lines.push_back({*got, text});
        EXPECT_EQ(reader->number(), static_cast<int64_t>(lines.size()));
    }
    EXPECT_EQ(reader->offset(), content.size());
    std::remove(path.c_str());
    return lines;
}

using Lines = std::vector<Line>;

TEST(LineReader, GivesEachLineOnce) {
    EXPECT_EQ(lines_of("", 10), Lines({}));
    EXPECT_EQ(lines_of("a\n\nbc\n", 10), Lines({{Got::line, "a"}, {Got::line, ""}, {Got::line, "bc"}}));
    EXPECT_EQ(lines_of("a\nbc", 10), Lines({{Got::line, "a"}, {Got::unfinished, "bc"}}));
}

TEST(LineReader, LongLinesArePassedOver) {
    EXPECT_EQ(lines_of("0123456789\n0123456789x\nab\n", 10),
              Lines({{Got::line, "0123456789"}, {Got::too_long, ""}, {Got::line, "ab"}}));
    EXPECT_EQ(lines_of(std::string(3'000'000, 'x') + "\nab", 10),
              Lines({{Got::too_long, ""}, {Got::unfinished, "ab"}}));
}

TEST(LineReader, LinesReachOverBlocks) {
    const std::string long_line(2'500'000, 'y');
    EXPECT_EQ(lines_of("a\n" + long_line + "\nb\n", 3'000'000),
              Lines({{Got::line, "a"}, {Got::line, long_line}, {Got::line, "b"}}));
}

TEST(LineReader, AMissingFileIsNamed) {
    const Expected<LineReader> reader = LineReader::open("/no/such/file.jsonl", 10);
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().what.find("/no/such/file.jsonl"), std::string::npos);
}

}  // namespace
}  // namespace ft::cli
