#include "tiers/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ft {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view k_small =
    "# freetoken-trace 1\n"
    "# model: small\n"
    "# layers 2 experts 4 top_k 2 tokens 3 prompt_tokens 1\n"
    "# expert_bytes 100 50\n"
    "# rows: layer token expert ... (by falling router weight)\n"
    "0 0 3 1\n"
    "0 1 2 0\n"
    "1 1 0 3\n"
    "0 2 1 3\n"
    "1 2 3\n";

std::string without(std::string_view text, std::string_view part, std::string_view instead) {
    std::string out(text);
    const size_t at = out.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    return out.replace(at, part.size(), instead);
}

TEST(Trace, ComesBackAsItWasWritten) {
    const auto trace = parse_trace(k_small, "small.trace");
    ASSERT_TRUE(trace) << trace.error().sentence();
    EXPECT_EQ(trace->model, "small");
    EXPECT_EQ(trace->n_layers, 2);
    EXPECT_EQ(trace->n_prompt, 1);
    EXPECT_EQ(trace->rows.size(), 5u);
    EXPECT_THAT(trace->chosen(trace->rows[2]), ElementsAre(0, 3));
    EXPECT_EQ(trace->demand_slots(), 4);
    EXPECT_EQ(trace->demand_bytes(), 300u);
    EXPECT_EQ(trace_text(*trace), k_small);
}

TEST(Trace, LinesMayEndAsElsewhereAndTheLastNotAtAll) {
    std::string text = without(k_small, "0 1 2 0\n", "0 1\t2  0 \r\n\n");
    text.pop_back();
    const auto trace = parse_trace(text, "small.trace");
    ASSERT_TRUE(trace) << trace.error().sentence();
    EXPECT_EQ(trace->rows.size(), 5u);
}

TEST(Trace, RefusesWhatIsNoTraceWithNameAndLine) {
    const std::string no_rows(k_small.substr(0, k_small.find("0 0 3 1")));
    const std::pair<std::string, std::string> cases[] = {
        {"", "empty"},
        {"\xff\x13 garbage", "no routing trace"},
        {"# freetoken-trace 2\n", "no routing trace"},
        {no_rows, "no rows"},
        {without(k_small, "layers 2", "layers 5000"), "layers is 5000"},
        {without(k_small, "layers 2", "layers -1"), "layers is -1"},
        {without(k_small, "layers 2 experts 4", "layers 4096 experts 65535"), "times experts is 268431360"},
        {without(k_small, "layers 2", "layers two"), "'two'"},
        {without(k_small, "experts 4", "experts 99999999999999999999"), "no number"},
        {without(k_small, "top_k 2", "top_k 5"), "top_k"},
        {without(k_small, "top_k 2 ", ""), "top_k"},
        {without(k_small, "prompt_tokens 1", "prompt_tokens 4"), "prompt"},
        {without(k_small, "100 50", "100"), "line 4"},
        {without(k_small, "100 50", "100 50 50"), "expert_bytes"},
        {without(k_small, "100 50", "100 0"), "line 4"},
        {without(k_small, "# layers", "0 0 1 2\n# layers"), "line 3"},
        {without(k_small, "# rows", "# layers 2 experts 4 top_k 2 tokens 3 prompt_tokens 1\n# rows"),
         "second"},
        {without(k_small, "0 1 2 0", "0 1 2 4"), "line 7: an expert is 4"},
        {without(k_small, "0 1 2 0", "0 1 2 2"), "expert 2 stands twice"},
        {without(k_small, "0 1 2 0", "0 1 2 0 1"), "more experts than top_k"},
        {without(k_small, "0 1 2 0", "0 1"), "without experts"},
        {without(k_small, "0 1 2 0", "2 1 2 0"), "the layer is 2"},
        {without(k_small, "0 1 2 0", "0 3 2 0"), "the token is 3"},
        {without(k_small, "0 1 2 0", "0 0 2 0"), "token by token"},
        {without(k_small, "0 1 2 0", "0 1 2.5 0"), "'2.5'"},
    };
    for (const auto& [text, sentence] : cases) {
        const auto trace = parse_trace(text, "odd.trace");
        ASSERT_FALSE(trace) << text;
        EXPECT_THAT(trace.error().what, HasSubstr("odd.trace")) << text;
        EXPECT_THAT(trace.error().what, HasSubstr(sentence));
        EXPECT_FALSE(trace.error().remedy.empty());
    }
}

TEST(Trace, EveryBeginningOfATraceIsReadOrRefused) {
    for (size_t n = 0; n < k_small.size(); ++n) {
        const auto trace = parse_trace(k_small.substr(0, n), "cut.trace");
        if (trace) EXPECT_LE(trace->rows.size(), 5u);
        else EXPECT_THAT(trace.error().what, HasSubstr("cut.trace"));
    }
}

TEST(Trace, FilesAreWrittenAndRead) {
    const auto path =
        std::filesystem::temp_directory_path() / ("freetoken_trace_test." + std::to_string(getpid()));
    const auto trace = parse_trace(k_small, "small.trace");
    ASSERT_TRUE(write_trace(*trace, path));
    const auto again = read_trace(path);
    ASSERT_TRUE(again) << again.error().sentence();
    EXPECT_EQ(trace_text(*again), k_small);
    std::filesystem::remove(path);
    const auto missing = read_trace(path);
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().what, HasSubstr(path.filename().string()));
}

TEST(Trace, TheRecorderPutsAChunksRoutesTokenByToken) {
    TraceRecorder recorder({.model = "m", .n_layers = 2, .n_experts = 4, .top_k = 2, .n_prompt = 2});
    const int a[] = {3, 1}, b[] = {2, 0};
    recorder.add(0, 0, a);
    recorder.add(0, 1, b);
    recorder.add(1, 0, b);
    recorder.add(1, 1, a);
    EXPECT_EQ(
        trace_text(recorder.finish()),
        "# freetoken-trace 1\n# model: m\n# layers 2 experts 4 top_k 2 tokens 2 prompt_tokens 2\n"
        "# rows: layer token expert ... (by falling router weight)\n0 0 3 1\n1 0 2 0\n0 1 2 0\n1 1 3 1\n");
}

TEST(Trace, PublishedTracesComeBackByteForByte) {
    const char* data = std::getenv("FREETOKEN_TEST_DATA");
    if (!data) GTEST_SKIP() << "FREETOKEN_TEST_DATA is not set";
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "traces")) {
        if (entry.path().extension() != ".trace") continue;
        std::ostringstream bytes;
        bytes << std::ifstream(entry.path()).rdbuf();
        const auto trace = read_trace(entry.path());
        ASSERT_TRUE(trace) << trace.error().sentence();
        EXPECT_EQ(trace_text(*trace), bytes.str()) << entry.path();
        ++n;
    }
    EXPECT_GT(n, 0);
}

}  // namespace

}  // namespace ft
