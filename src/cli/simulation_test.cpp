// What `simulate` shows: the table, the JSON object and the chart say the same, and foreign names stay text.
#include "cli/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"

namespace ft::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two sizes; the policy of number p has 10 + p hits of 100 at the smaller one, 50 + p at the larger.
Simulation two_sizes(std::string model = "Small & Odd <b>") {
    Simulation s{.model = std::move(model),
                 .n_layers = 3,
                 .n_experts = 8,
                 .top_k = 2,
                 .n_tokens = 40,
                 .n_prompt = 10,
                 .demand_slots = 6,
                 .demand_bytes = 6 * k_mib};
    s.sizes = {{.slots = 3, .bytes = 3 * k_mib, .demands = 0.5}, {.slots = 12, .bytes = k_gib, .demands = 2}};
    uint64_t p = 0;
    for (const ReplayPolicy& policy : replay_policies()) {
        s.lines.push_back({policy,
                           {{.uses = 100, .hits = 10 + p, .insertions = 20, .missed_bytes = 7},
                            {.uses = 100, .hits = 50 + p, .insertions = 5, .missed_bytes = 9}}});
        p++;
    }
    return s;
}

// The line of a text that begins so, blanks aside.
std::string line_with(const std::string& text, const std::string& begin) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const size_t at = line.find_first_not_of(' ');
        if (at != std::string::npos && line.compare(at, begin.size(), begin) == 0) return line;
    }
    return "";
}

size_t count(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
    return n;
}

TEST(SimulationTable, HasARowForEachSizeAndAColumnForEachPolicy) {
    const Simulation s = two_sizes();
    const std::string text = simulation_table(s);
    EXPECT_THAT(text, HasSubstr("3 layers of 8 experts, 2 for a token"));
    EXPECT_THAT(text, HasSubstr("asks for 6 experts, 6.00 MiB"));
    EXPECT_THAT(text, HasSubstr("10 tokens of the prompt fill the cache, 30 of the answer are counted"));
    const std::string small = line_with(text, "3 "), large = line_with(text, "12 ");
    EXPECT_THAT(small, HasSubstr("3.00 MiB"));
    EXPECT_THAT(large, HasSubstr("1.00 GiB"));
    for (size_t p = 0; p < s.lines.size(); p++) {
        EXPECT_THAT(small, HasSubstr(fmt::format("{}.0", 10 + p)));
        EXPECT_THAT(large, HasSubstr(fmt::format("{}.0", 50 + p)));
        EXPECT_THAT(line_with(text, std::string(s.lines[p].policy.name) + "  "),
                    HasSubstr(s.lines[p].policy.summary));
    }
    EXPECT_THAT(text, HasSubstr("experts put into the cache"));
    EXPECT_EQ(count(text, "(the default)"), 1u);
}

TEST(SimulationTable, BytesThatAreUnknownAreLeftOut) {
    Simulation s = two_sizes();
    s.demand_bytes = 0;
    for (Simulation::Size& size : s.sizes) size.bytes = 0;
    EXPECT_THAT(simulation_table(s), HasSubstr("asks for 6 experts;"));
    EXPECT_THAT(simulation_table(s), Not(HasSubstr("size")));
}

TEST(SimulationTable, AShortAnswerIsSaidToBeShort) {
    Simulation s = two_sizes();
    EXPECT_THAT(simulation_table(s), HasSubstr("So short an answer (30 tokens) says little"));
    s.n_tokens = s.n_prompt + 1;
    EXPECT_THAT(simulation_table(s), HasSubstr("(1 token) says little"));
    s.n_tokens = s.n_prompt + k_few_trace_tokens;
    EXPECT_THAT(simulation_table(s), Not(HasSubstr("says little")));
}

TEST(SimulationTable, ControlCharactersOfAModelsNameDoNotReachTheTerminal) {
    EXPECT_THAT(simulation_table(two_sizes("a\x1b[31mb")), Not(HasSubstr("\x1b")));
}

TEST(SimulationJson, HoldsEveryFigure) {
    const Simulation s = two_sizes();
    const auto json = nlohmann::json::parse(simulation_json(s));
    EXPECT_EQ(json["model"], s.model);
    EXPECT_EQ(json["demand"]["slots"], 6);
    EXPECT_EQ(json["default"], k_default_policy);
    ASSERT_EQ(json["policies"].size(), s.lines.size());
    const auto& rows = json["policies"][std::string(s.lines[1].policy.name)];
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1]["slots"], 12);
    EXPECT_DOUBLE_EQ(rows[1]["hit_rate"], 0.51);
    EXPECT_DOUBLE_EQ(rows[0]["insertion_rate"], 0.2);
    EXPECT_EQ(rows[0]["missed_bytes"], 7);
}

TEST(SimulationSvg, DrawsALineForEachPolicyThatRisesWithItsHits) {
    const Simulation s = two_sizes();
    const std::string svg = simulation_svg(s);
    EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(count(svg, "<polyline "), s.lines.size());
    EXPECT_EQ(count(svg, "<circle "), 2 * s.lines.size());
    for (const Simulation::Line& line : s.lines)
        EXPECT_THAT(svg, HasSubstr(fmt::format(">{}</text>", line.policy.name)));
    EXPECT_THAT(svg, HasSubstr(fmt::format("{}, 12 slots: 50.0 % hits", s.lines[0].policy.name)));
    // 10 % and 50 % of the height between the axes, at the left and the right end
    EXPECT_THAT(svg, HasSubstr("points=\"72.0,432.2 840.0,281.0 \""));
    EXPECT_THAT(svg, HasSubstr("one token's demand"));
}

TEST(SimulationSvg, NamesOfAFileStayText) {
    const std::string svg = simulation_svg(two_sizes("<script>\"&"));
    EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&quot;&amp;"));
    EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

TEST(SimulationSvg, OneSizeIsAChartToo) {
    Simulation s = two_sizes();
    s.sizes.resize(1);
    for (Simulation::Line& line : s.lines) line.counts.resize(1);
    const std::string svg = simulation_svg(s);
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace ft::cli
