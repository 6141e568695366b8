#include "text/token_trie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "text/vocabulary_for_test.h"

namespace ft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// id and bytes of every token, put together again by a walk.
std::vector<std::pair<int32_t, std::string>> tokens_of(std::span<const TokenTrie::Node> nodes) {
    std::vector<std::pair<int32_t, std::string>> found;
    std::string path;
    for (const TokenTrie::Node& node : nodes) {
        path.resize(node.depth);
        path.push_back(static_cast<char>(node.byte));
        if (node.token >= 0) found.emplace_back(node.token, path);
    }
    return found;
}

std::vector<int32_t> ids_of(std::span<const uint64_t> bits) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < bits.size() * 64; i++)
        if ((bits[i / 64] >> (i % 64)) & 1) ids.push_back(static_cast<int32_t>(i));
    return ids;
}

TEST(TokenTrie, HoldsEveryTokenOnceAlsoThoseOfTheSameBytes) {
    const std::vector<std::string> texts = {"ab", "", "abc", "b", "ab", "\xFF", "a"};
    const TokenTrie trie(texts);
    EXPECT_THAT(tokens_of(trie.all()), UnorderedElementsAre(Pair(0, "ab"), Pair(2, "abc"), Pair(3, "b"),
                                                            Pair(4, "ab"), Pair(5, "\xFF"), Pair(6, "a")));
    EXPECT_EQ(trie.longest(), 3);
}

TEST(TokenTrie, TheEndOfANodeIsBehindAllThatBeginLikeIt) {
    const std::vector<std::string> texts = {"ab", "abc", "abd", "ac", "b", "ab"};
    const TokenTrie trie(texts);
    const auto nodes = trie.all();
    for (size_t i = 0; i < nodes.size(); i++) {
        const auto end = static_cast<size_t>(nodes[i].end);
        ASSERT_GT(end, i);
        ASSERT_LE(end, nodes.size());
        for (size_t j = i + 1; j < end; j++) EXPECT_GT(nodes[j].depth, nodes[i].depth);
        EXPECT_TRUE(end == nodes.size() || nodes[end].depth <= nodes[i].depth);
    }
}

TEST(TokenTrie, PlainTokensAreListedByTheirCharacters) {
    const std::vector<std::string> texts = {"a",   " bc", "蓝色",     "\"",
                                            "a\\", "\n",  "\xE8\x93", std::string(17, 'x')};
    const TokenTrie trie(texts);
    EXPECT_THAT(ids_of(trie.plain(1)), ElementsAre(0));
    EXPECT_THAT(ids_of(trie.plain(2)), ElementsAre(0, 2));
    EXPECT_THAT(ids_of(trie.plain(3)), ElementsAre(0, 1, 2));
    EXPECT_THAT(ids_of(trie.plain(TokenTrie::k_most_plain)), ElementsAre(0, 1, 2));
    std::map<int32_t, std::string> others;
    for (auto& [id, text] : tokens_of(trie.not_plain())) others[id] = text;
    EXPECT_THAT(others, UnorderedElementsAre(Pair(3, "\""), Pair(4, "a\\"), Pair(5, "\n"),
                                             Pair(6, "\xE8\x93"), Pair(7, std::string(17, 'x'))));
}

TEST(TokenTrie, TokensThatAreTooLongAreLeftOut) {
    const std::vector<std::string> texts = {std::string(255, 'x'), std::string(256, 'x')};
    const TokenTrie trie(texts);
    EXPECT_THAT(tokens_of(trie.all()), ElementsAre(Pair(0, texts[0])));
}

TEST(TokenTrie, OfAVocabularyHoldsNeitherControlTokensNorMarksOfTemplates) {
    TestVocabulary v = sentencepiece_vocabulary();
    const int32_t word = v.add("\xE2\x96\x81word");
    const int32_t user = v.add("\n\n", TokenType::user_defined);
    v.add("<tool>", TokenType::user_defined);
    v.add("unused", TokenType::unused);
    const auto tokenizer = load_tokenizer(v.writer());
    ASSERT_TRUE(tokenizer);
    std::map<int32_t, std::string> found;
    for (auto& [id, text] : tokens_of((*tokenizer)->trie().all())) found[id] = text;
    EXPECT_EQ(found.size(), 258u);  // the bytes and two
    EXPECT_EQ(found[word], " word");
    EXPECT_EQ(found[user], "\n\n");
    EXPECT_EQ(found[3 + 'a'], "a");
}

}  // namespace
}  // namespace ft
