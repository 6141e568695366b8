#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/show_report.h"
#include "gguf/writer.h"

namespace ft::cli {
namespace {

using ::testing::HasSubstr;

const std::string k_golden = FREETOKEN_SOURCE_DIR "/tests/goldens/small/qwen35moe-mtp-f16/model.gguf";

class ShowTest : public ::testing::Test {
 protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(std::string_view name) const { return fmt::format("{}/{}", folder_, name); }

    // What the command ends with for these words; nothing of it goes to stdout unless it succeeds.
    static Expected<int> run(std::vector<std::string> words) {
        CLI::App app;
        const Action action = define_show(app);
        std::reverse(words.begin(), words.end());
        app.parse(words);
        return action();
    }

    std::string folder_ = fmt::format("{}freetoken_show_test_{}", ::testing::TempDir(), ::getpid());
};

TEST_F(ShowTest, TextHoldsTheFiguresThatPeopleAskFor) {
    const Expected<Gguf> gguf = Gguf::open(k_golden);
    ASSERT_TRUE(gguf) << gguf.error().sentence();
    const std::string text = show_text(*gguf, summarise(*gguf));
    for (const char* wanted :
         {"nano qwen35moe\n", "Architecture    qwen35moe, mixture of experts\n", "Quantisation    F16\n",
          "Layers          4, and 1 for multi-token prediction\n",
          "Experts         6 in each layer, 2 per token\n", "4.50 KiB in 4 layers", "512 tokens", "delta net",
          "Tokenizer       gpt2 (qwen2), 300 tokens\n", "no chat template"})
        EXPECT_THAT(text, HasSubstr(wanted));
    EXPECT_THAT(tensor_text(*gguf), HasSubstr("48 × 16 × 6"));
}

TEST_F(ShowTest, JsonHoldsTheSameFigures) {
    const Expected<Gguf> gguf = Gguf::open(k_golden);
    ASSERT_TRUE(gguf) << gguf.error().sentence();
    const auto json = nlohmann::json::parse(show_json(*gguf, summarise(*gguf), true));
    EXPECT_EQ(json["architecture"], "qwen35moe");
    EXPECT_EQ(json["layers"], 4);
    EXPECT_EQ(json["experts"]["count"], 6);
    EXPECT_EQ(json["experts"]["size_classes"][0]["layers"], 4);
    EXPECT_EQ(json["kv_bytes_per_token"], 256);
    EXPECT_EQ(json["tensors"].size(), gguf->tensors().size());
    EXPECT_EQ(json["tensors"][0]["shape"], (std::vector<int>{48, 300}));
    for (const char* role : {"experts", "attention", "delta_net", "shared", "embedding", "head"})
        EXPECT_TRUE(json["bytes"]["by_role"].contains(role)) << role;
    EXPECT_FALSE(nlohmann::json::parse(show_json(*gguf, summarise(*gguf), false)).contains("tensors"));
}

TEST_F(ShowTest, TextOfTheFileCannotCommandATerminal) {
    GgufWriter writer;
    writer.add("general.architecture", "a\x1b[2J");
    writer.add("general.name", "bell\a and \xff");
    writer.add("general.license", "l\r");
    writer.add("tokenizer.ggml.model", "t\x1b");
    const std::array<int64_t, 1> dims{1};
    writer.add_tensor("w\x1b", 0, dims, std::vector<std::byte>(4));
    ASSERT_TRUE(writer.write(path("odd.gguf")));
    const Expected<Gguf> gguf = Gguf::open(path("odd.gguf"));
    ASSERT_TRUE(gguf);
    const std::string text = show_text(*gguf, summarise(*gguf)) + tensor_text(*gguf);
    EXPECT_TRUE(
        std::none_of(text.begin(), text.end(), [](char c) { return c == '\x1b' || c == '\a' || c == '\r'; }));
    EXPECT_THAT(text, HasSubstr("bell\\x07 and \\xff"));
    const auto json = nlohmann::json::parse(show_json(*gguf, summarise(*gguf), true));
    EXPECT_EQ(json["name"], "bell\a and \uFFFD");
}

TEST_F(ShowTest, WritesOneTensorAsFloats) {
    GgufWriter writer;
    const std::vector<float> values{1.5F, -2.0F, 0.0F};
    const std::array<int64_t, 1> dims{3};
    writer.add_tensor("w", 0, dims, std::as_bytes(std::span(values)));
    ASSERT_TRUE(writer.write(path("m.gguf")));
    const Expected<int> done = run({path("m.gguf"), "--tensor", "w", "-o", path("out.f32")});
    ASSERT_TRUE(done) << done.error().sentence();
    std::vector<float> got(3);
    std::ifstream(path("out.f32"), std::ios::binary).read(reinterpret_cast<char*>(got.data()), 12);
    EXPECT_EQ(got, values);
    EXPECT_EQ(std::filesystem::file_size(path("out.f32")), 12u);
}

TEST_F(ShowTest, RefusalsNameTheThing) {
    const auto refusal = [](const std::vector<std::string>& words) {
        const Expected<int> done = run(words);
        return done ? "done" : done.error().sentence();
    };
    const std::string out = path("out.f32");
    EXPECT_THAT(refusal({k_golden, "--tensor", "no.such", "-o", out}), HasSubstr("'no.such'"));
    EXPECT_FALSE(std::filesystem::exists(out));
    EXPECT_THAT(refusal({k_golden, "--tensor", "output.weight"}), HasSubstr("-o FILE"));
    EXPECT_THAT(refusal({k_golden, "-o", out}), HasSubstr("--tensor NAME"));
    EXPECT_THAT(refusal({path("none.gguf")}), HasSubstr("none.gguf"));
    EXPECT_THAT(refusal({k_golden, "--tensor", "output.weight", "-o", "/dev/full"}), HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace ft::cli
