#include "text/tokenizer_json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "text/vocabulary_for_test.h"

namespace ft {
namespace {

class TokenizerJsonTest : public ::testing::Test {
 protected:
    TokenizerJsonTest() {
        old_.merge("t", "h");
        old_.add("<|end|>", TokenType::control);
        old_.add("[padding]", TokenType::unused);
        json_["model"] = {
            {"type", "BPE"}, {"vocab", nlohmann::json::object()}, {"merges", nlohmann::json::array({"a b"})}};
        for (size_t id = 0; id < 256; id++) json_["model"]["vocab"][old_.tokens[id]] = id;
        json_["model"]["vocab"]["ab"] = 256;
        json_["added_tokens"] =
            nlohmann::json::parse(R"([{"id": 257, "content": "<|stop|>", "special": true}])");
    }
    void TearDown() override { std::filesystem::remove(path_); }

    Expected<std::unique_ptr<Tokenizer>> load(const std::string& text) {
        std::ofstream(path_) << text;
        GgufWriter w = old_.writer();
        w.add("tokenizer.ggml.pre", std::string("gpt-2"));
        const std::string bytes = w.bytes();
        const Expected<Gguf> file = open_in_memory(bytes);
        if (!file) return file.error();
        return Tokenizer::load(*file, path_);
    }
    std::string refused(const std::string& text) {
        const auto tokenizer = load(text);
        EXPECT_FALSE(tokenizer) << text;
        return tokenizer ? "" : tokenizer.error().sentence();
    }

    const std::string path_ = ::testing::TempDir() + "tokenizer_json_test";
    TestVocabulary old_ = byte_vocabulary();
    nlohmann::json json_;
};

TEST_F(TokenizerJsonTest, ReplacesTokensAndMerges) {
    const auto tokenizer = load(json_.dump());
    ASSERT_TRUE(tokenizer) << tokenizer.error().sentence();
    EXPECT_EQ((*tokenizer)->encode("ab"), (std::vector<int32_t>{256}));
    EXPECT_EQ((*tokenizer)->encode("th").size(), 2u);
    EXPECT_EQ((*tokenizer)->encode("<|stop|>", {.special = true}), (std::vector<int32_t>{257}));
    EXPECT_EQ((*tokenizer)->vocab_size(), 259);
    json_["model"]["merges"] = nlohmann::json::parse(R"([["a", "b"]])");
    const auto pairs = load(json_.dump());
    ASSERT_TRUE(pairs);
    EXPECT_EQ((*pairs)->encode("ab"), (std::vector<int32_t>{256}));
}

TEST_F(TokenizerJsonTest, RefusalsNameTheFile) {
    EXPECT_NE(refused("{").find(path_), std::string::npos);
    EXPECT_NE(refused("{}").find("no tokenizer.json"), std::string::npos);
    auto other = json_;
    other["model"]["type"] = "Unigram";
    EXPECT_NE(refused(other.dump()).find("Unigram"), std::string::npos);
    auto larger = json_;
    larger["model"]["vocab"]["new"] = 900;
    EXPECT_NE(refused(larger.dump()).find("900"), std::string::npos);
    auto smaller = json_;
    smaller["model"]["vocab"].erase("ab");
    EXPECT_NE(refused(smaller.dump()).find("257 tokens"), std::string::npos);
    auto broken = json_;
    broken["model"]["merges"] = nlohmann::json::parse(R"(["ab"])");
    EXPECT_NE(refused(broken.dump()).find("merges[0]"), std::string::npos);
    std::filesystem::remove(path_);
    const std::string bytes = old_.writer().bytes();
    const Expected<Gguf> file = open_in_memory(bytes);
    ASSERT_TRUE(file);
    const auto missing = Tokenizer::load(*file, "/nowhere/tokenizer.json");
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().what.find("/nowhere/tokenizer.json"), std::string::npos);
}

}  // namespace
}  // namespace ft
