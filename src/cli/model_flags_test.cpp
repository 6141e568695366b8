#include "cli/model_flags.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <cstdlib>

namespace ft::cli {
namespace {

// Parses `words` as a command would and calls with_model(); what the body got, or the refusal.
struct Outcome {
    std::optional<ModelChoice> choice;
    std::string refusal;
};

Outcome parse(std::vector<std::string> words, Use use = Use::answering) {
    CLI::App app("a command", "freetoken x");
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    const auto flags = add_model_flags(app, use);
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
    Outcome outcome;
    const Expected<int> status = with_model(*flags, [&](const ModelChoice& choice) -> Expected<int> {
        outcome.choice = choice;
        return 0;
    });
    if (!status) outcome.refusal = status.error().sentence();
    return outcome;
}

TEST(ModelFlags, ValuesReachTheSettingsAsTheyWereTyped) {
    const Outcome got =
        parse({"m.gguf", "--temp", "0.5", "--temp", "0.25", "--system", "[a, b], c", "--ctx", "64", "--set",
               "inference.top_k=3", "--set", "inference.top_p=1", "--threads", "2"});
    ASSERT_TRUE(got.choice) << got.refusal;
    EXPECT_EQ(got.choice->path, "m.gguf");
    EXPECT_EQ(got.choice->n_ctx, 64);
    EXPECT_EQ(got.choice->settings.number("inference.temperature"), 0.25);
    EXPECT_EQ(got.choice->settings.text("inference.system"), "[a, b], c");
    EXPECT_EQ(got.choice->settings.integer("inference.top_k"), 3);
    EXPECT_EQ(got.choice->settings.number("inference.top_p"), 1);
    EXPECT_EQ(got.choice->settings.origin("model.path"), "MODEL");
}

TEST(ModelFlags, TheModelIsNamedByAnArgumentOrAFlag) {
    for (const char* flag : {"-m", "--model"}) {
        const Outcome got = parse({flag, "m.gguf", "--ctx", "64"}, Use::loading);
        ASSERT_TRUE(got.choice) << got.refusal;
        EXPECT_EQ(got.choice->path, "m.gguf");
        EXPECT_EQ(got.choice->settings.origin("model.path"), "--model");
    }
    const std::string twice = parse({"a.gguf", "--model", "b.gguf"}).refusal;
    EXPECT_NE(twice.find("a.gguf and by --model b.gguf"), std::string::npos) << twice;
    EXPECT_EQ(parse({"--model", ""}).refusal.find("--model takes the path of a file"), 0u);
}

TEST(ModelFlags, AnEmptyValueIsAValue) {
    const Outcome got = parse({"--system", "", "m.gguf"});
    ASSERT_TRUE(got.choice) << got.refusal;
    EXPECT_EQ(got.choice->settings.text("inference.system"), "");
    EXPECT_TRUE(got.choice->settings.given("inference.system"));
}

TEST(ModelFlags, EveryFlagOfTheTableNamesItselfWhenRefused) {
    const std::vector<std::pair<std::string, std::string>> bad = {
        {"--temp", "hot"},      {"--temp", "-1"},        {"--top-p", "1.5"},        {"--top-k", "x"},
        {"--max-tokens", "-5"}, {"--ctx", "-1"},         {"--ctx", "large"},        {"--seed", "x"},
        {"--threads", "many"},  {"--threads", "0"},      {"--repeat-penalty", "0"}, {"--min-p", "2"},
        {"--think", "maybe"},   {"--repeat-last-n", "x"}};
    for (const auto& [name, value] : bad) {
        const Outcome got = parse({"m.gguf", name, value});
        EXPECT_FALSE(got.choice) << name << " " << value;
        EXPECT_EQ(got.refusal.find(name + " takes "), 0u) << got.refusal;
        EXPECT_NE(got.refusal.find("\"" + value + "\""), std::string::npos) << got.refusal;
    }
}

TEST(ModelFlags, CommandsThatOnlyLoadTakeNoSamplingFlags) {
    EXPECT_THROW(parse({"m.gguf", "--temp", "1"}, Use::loading), CLI::ParseError);
    EXPECT_TRUE(parse({"m.gguf", "--threads", "1"}, Use::loading).choice);
}

TEST(ModelFlags, TheModelMayStandInTheSettings) {
    EXPECT_NE(parse({}).refusal.find("no model is named"), std::string::npos);
    const Outcome got = parse({"--set", "model.path=from/set.gguf"});
    ASSERT_TRUE(got.choice) << got.refusal;
    EXPECT_EQ(got.choice->path, "from/set.gguf");
    EXPECT_EQ(got.choice->n_ctx, 0);
}

TEST(ModelFlags, PrintConfigNeedsNoModel) {
    testing::internal::CaptureStdout();
    const Outcome got = parse({"--print-config", "--temp", "0.5"});
    const std::string text = testing::internal::GetCapturedStdout();
    EXPECT_FALSE(got.choice);
    EXPECT_EQ(got.refusal, "");
    EXPECT_NE(text.find("  temperature: 0.5  # --temp\n"), std::string::npos) << text;
    EXPECT_NE(text.find("model:\n  path: null"), std::string::npos) << text;
}

}  // namespace
}  // namespace ft::cli
