// Recorded cases of published tokenizers, where FREETOKEN_TEST_DATA names a folder with goldens/tokenizers.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "text/pretokenizer.h"
#include "text/vocabulary_for_test.h"

namespace ft {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

fs::path goldens() {
    const char* data = std::getenv("FREETOKEN_TEST_DATA");
    return data == nullptr ? fs::path() : fs::path(data) / "goldens" / "tokenizers";
}

std::string unpacked(const fs::path& xz) {
    std::FILE* pipe = popen(("xz -dc '" + xz.string() + "'").c_str(), "r");
    if (pipe == nullptr) return {};
    std::string bytes;
    char block[1 << 16];
    for (size_t n = 0; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) bytes.append(block, n);
    return pclose(pipe) == 0 ? bytes : std::string();
}

std::vector<json> lines_of(const fs::path& path) {
    std::ifstream file(path);
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
    return lines;
}

std::string bytes_of(const json& line) {
    if (line.contains("text")) return line.at("text").get<std::string>();
    const auto hex = line.at("hex").get<std::string>();
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

using Ids = std::vector<int32_t>;

// The record also has a checksum of all ids, which needs a cryptographic hash: here counts and ends are
// compared.
void check_stress(const Tokenizer& tokenizer, const json& line) {
    std::string text;
    for (int i = 0; i < line.at("times").get<int>(); ++i) text += line.at("repeat").get<std::string>();
    const Ids ids = tokenizer.encode(text, {.special = line.at("special").get<bool>()});
    const auto first = line.at("first").get<Ids>(), last = line.at("last").get<Ids>();
    ASSERT_EQ(ids.size(), line.at("n_ids").get<size_t>()) << line.dump();
    EXPECT_TRUE(std::equal(first.begin(), first.end(), ids.begin())) << line.dump();
    EXPECT_TRUE(std::equal(last.begin(), last.end(), ids.end() - static_cast<std::ptrdiff_t>(last.size())));
}

TEST(TokenizerGoldens, EveryVocabulary) {
    const fs::path folder = goldens();
    if (!fs::exists(folder)) GTEST_SKIP() << "FREETOKEN_TEST_DATA names no folder with goldens/tokenizers";
    std::map<std::string, std::vector<json>> stress;
    for (const json& line : lines_of(folder / "stress.jsonl")) stress[line.at("tokenizer")].push_back(line);
    int vocabularies = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const fs::path xz = entry.path() / "vocab.gguf.xz";
        if (!fs::exists(xz)) continue;
        SCOPED_TRACE(xz.string());
        const Expected<Gguf> file = open_in_memory(unpacked(xz));
        ASSERT_TRUE(file) << "xz is needed to unpack it: " << file.error().sentence();
        const auto tokenizer = Tokenizer::load(*file);
        ASSERT_TRUE(tokenizer) << tokenizer.error().sentence();
        for (const json& c : lines_of(entry.path() / "cases.jsonl"))
            EXPECT_EQ((*tokenizer)
                          ->encode(bytes_of(c), {.special = c.at("special").get<bool>(),
                                                 .add_special = c.value("add_special", false)}),
                      c.at("ids").get<Ids>())
                << c.dump();
        for (const json& c : lines_of(entry.path() / "detok.jsonl"))
            EXPECT_EQ((*tokenizer)->decode(c.at("ids").get<Ids>(), !c.at("skip_special").get<bool>()),
                      bytes_of(c))
                << c.dump();
        for (const json& line : stress[entry.path().filename().string()]) check_stress(**tokenizer, line);
        ++vocabularies;
    }
    EXPECT_GT(vocabularies, 0);
}

TEST(TokenizerGoldens, EverySplitRule) {
    const fs::path path = goldens() / "pretokenizers.jsonl";
    if (!fs::exists(path)) GTEST_SKIP() << "FREETOKEN_TEST_DATA names no folder with goldens/tokenizers";
    std::map<std::string, std::unique_ptr<Pretokenizer>> rules;
    for (const json& c : lines_of(path)) {
        auto& rule = rules[c.at("pre")];
        if (rule == nullptr)
            rule = std::make_unique<Pretokenizer>(*find_pretokenizer(c.at("pre").get<std::string>()));
        std::vector<std::string> pieces;
        const auto text = c.at("text").get<std::string>();
        Splitter(*rule).split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
        EXPECT_EQ(pieces, c.at("pieces").get<std::vector<std::string>>()) << c.dump();
    }
    EXPECT_FALSE(rules.empty());
}

}  // namespace
}  // namespace ft
