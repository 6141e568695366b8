#include "text/special_tokens.h"

#include <algorithm>

namespace ft {

SpecialTokens::SpecialTokens(std::vector<std::pair<std::string, int32_t>> tokens) {
    std::sort(tokens.begin(), tokens.end());
    tokens_.reserve(tokens.size());
    for (auto& [text, id] : tokens) {
        if (text.empty() || (!tokens_.empty() && tokens_.back().text == text)) continue;
        // What a token begins with stands before it, with nothing in between that does not begin with it too.
        auto shorter = static_cast<int32_t>(tokens_.size()) - 1;
        while (shorter >= 0 && !text.starts_with(tokens_[static_cast<size_t>(shorter)].text))
            shorter = tokens_[static_cast<size_t>(shorter)].shorter;
        first_byte_[static_cast<uint8_t>(text.front()) + size_t{1}]++;
        tokens_.push_back({std::move(text), id, shorter});
    }
    for (size_t byte = 0; byte < 256; ++byte) first_byte_[byte + 1] += first_byte_[byte];
}

SpecialTokens::Match SpecialTokens::find(std::string_view text, size_t from) const {
    if (empty()) return {};
    for (size_t begin = from; begin < text.size(); ++begin)
        if (const Match match = match_at(text, begin); match.id >= 0) return match;
    return {};
}

// A token that the text goes on with is the last one not behind the text in order, or one that it begins
// with.
SpecialTokens::Match SpecialTokens::match_at(std::string_view text, size_t begin) const {
    const auto byte = static_cast<uint8_t>(text[begin]);
    const auto first = tokens_.begin() + first_byte_[byte],
               end = tokens_.begin() + first_byte_[byte + size_t{1}];
    if (first == end) return {};
    const std::string_view rest = text.substr(begin);
    const auto behind = std::upper_bound(
        first, end, rest, [](std::string_view t, const Token& token) { return t < token.text; });
    if (behind == first) return {};
    const Token* token = &*(behind - 1);
    const size_t most = std::min(rest.size(), token->text.size());
    const auto common = static_cast<size_t>(
        std::mismatch(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(most), token->text.begin())
            .first -
        rest.begin());
    while (token->text.size() > common) {
        if (token->shorter < 0) return {};
        token = &tokens_[static_cast<size_t>(token->shorter)];
    }
    return {begin, begin + token->text.size(), token->id};
}

}  // namespace ft
