#include "text/token_trie.h"

#include <algorithm>

#include "base/utf8.h"

namespace ft {

namespace {

bool is_plain(const Utf8Char& c) {
    return c.valid && c.code >= ' ' && c.code != '"' && c.code != '\\' && c.code != 0x7F;
}

// 0: not all of them are plain.
int plain_characters(std::string_view text) {
    int n = 0;
    for (size_t at = 0; at < text.size(); n++) {
        const Utf8Char c = utf8_at(text, at);
        if (!is_plain(c)) return 0;
        at += static_cast<size_t>(c.size);
    }
    return n;
}

size_t common_bytes(std::string_view a, std::string_view b) {
    return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string> texts) {
    const size_t n_words = (texts.size() + 63) / 64;
    plain_.assign(k_most_plain, std::vector<uint64_t>(n_words));
    std::vector<Token> tokens;
    tokens.reserve(texts.size());
    for (size_t id = 0; id < texts.size(); id++)
        if (!texts[id].empty() && texts[id].size() <= k_longest_token)
            tokens.emplace_back(texts[id], static_cast<int32_t>(id));
    std::sort(tokens.begin(), tokens.end());
    std::vector<Token> others;
    for (const auto& [text, id] : tokens) {
        longest_ = std::max(longest_, static_cast<int>(text.size()));
        const int n = plain_characters(text);
        if (n == 0 || n > k_most_plain) others.emplace_back(text, id);
        else
            for (int length = n; length <= k_most_plain; length++)
                plain_[static_cast<size_t>(length - 1)][static_cast<size_t>(id) / 64] |= uint64_t{1}
                                                                                         << (id % 64);
    }
    all_ = tree_of(tokens);
    not_plain_ = tree_of(others);
}

std::vector<TokenTrie::Node> TokenTrie::tree_of(std::span<const Token> sorted) {
    std::vector<Node> nodes;
    std::vector<size_t> path;  // the nodes of the token before
    std::string_view before;
    const auto leave = [&](size_t depth) {
        for (; path.size() > depth; path.pop_back())
            nodes[path.back()].end = static_cast<int32_t>(nodes.size());
    };
    for (const auto& [text, id] : sorted) {
        const size_t common = common_bytes(before, text);
        leave(std::min(common, text.size() - 1));
        for (size_t depth = path.size(); depth < text.size(); depth++) {
            path.push_back(nodes.size());
            nodes.push_back({0, -1, static_cast<uint8_t>(depth), static_cast<uint8_t>(text[depth])});
        }
        nodes.back().token = id;
        before = text;
    }
    leave(0);
    return nodes;
}

}  // namespace ft
