#include "text/char_fallback.h"

#include "base/utf8.h"

namespace ft {

std::string mark_blanks(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 2);
    for (const char c : text) {
        if (c == ' ') {
            out += k_blank_mark;
        } else {
            out.push_back(c);
        }
    }
    return out;
}

void append_unmarked(std::string& out, std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const size_t mark = std::min(text.find(k_blank_mark, at), text.size());
        out.append(text.substr(at, mark - at));
        if (mark < text.size()) out.push_back(' ');
        at = mark + k_blank_mark.size();
    }
}

std::optional<uint8_t> byte_token_value(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
    const auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    const int high = digit(text[3]), low = digit(text[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<uint8_t>(high * 16 + low);
}

TokenIndex merge_results(const Vocabulary& vocabulary) {
    TokenIndex index(vocabulary.tokens, vocabulary.tokens.size());
    for (int32_t id = 0; id < vocabulary.size(); ++id)
        if (vocabulary.type(id) == TokenType::normal || vocabulary.type(id) == TokenType::user_defined)
            index.add(id);
    return index;
}

CharFallback::CharFallback(const Vocabulary& vocabulary, const TokenIndex& index) : index_(index) {
    byte_ids_.fill(vocabulary.unknown_id);
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
        if (vocabulary.type(id) != TokenType::byte) continue;
        if (const auto byte = byte_token_value(vocabulary.text(id))) byte_ids_[*byte] = id;
    }
}

void CharFallback::split(std::string_view text, std::vector<Symbol>& symbols) const {
    symbols.clear();
    for (size_t at = 0; at < text.size();) {
        const auto size = static_cast<size_t>(utf8_size(text[at]));
        symbols.push_back({.begin = static_cast<uint32_t>(at),
                           .size = static_cast<uint32_t>(size),
                           .id = index_.find(text.substr(at, size))});
        at += size;
    }
}

void CharFallback::append(const std::vector<Symbol>& symbols, std::string_view text,
                          std::vector<int32_t>& ids) const {
    for (int32_t i = symbols.empty() ? -1 : 0; i >= 0; i = symbols[static_cast<size_t>(i)].next) {
        const Symbol& s = symbols[static_cast<size_t>(i)];
        if (s.id >= 0) {
            ids.push_back(s.id);
            continue;
        }
        for (const char byte : text.substr(s.begin, s.size))
            if (const int32_t id = byte_ids_[static_cast<uint8_t>(byte)]; id >= 0) ids.push_back(id);
    }
}

}  // namespace ft
