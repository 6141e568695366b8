#include "base/utf8.h"

#include "base/bytes.h"

namespace ft {

namespace {

// What may follow a lead byte: the length of the character and the range of the second byte.
struct Lead {
    int size = 0;  // 0: no character starts with this byte
    uint8_t low = 0x80;
    uint8_t high = 0xBF;
};

Lead lead_of(uint8_t byte) {
    if (byte < 0x80) return {1};
    if (byte >= 0xC2 && byte <= 0xDF) return {2};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
    if (byte >= 0xE1 && byte <= 0xEF) return {3};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte == 0xF4) return {4, 0x80, 0x8F};  // nothing beyond U+10FFFF
    if (byte >= 0xF1 && byte <= 0xF3) return {4};
    return {0};
}

// The offset of the first byte at or after `at` that is no ASCII.
size_t skip_ascii(std::string_view text, size_t at) {
    while (at + 8 <= text.size() && (load<uint64_t>(text.data() + at) & 0x8080808080808080u) == 0) at += 8;
    while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
    return at;
}

// The offset of the first ill-formed part at or after `at`, or the size.
size_t first_ill_formed(std::string_view text, size_t at) {
    while ((at = skip_ascii(text, at)) < text.size()) {
        const Utf8Char c = utf8_at(text, at);
        if (!c.valid) return at;
        at += static_cast<size_t>(c.size);
    }
    return text.size();
}

}  // namespace

Utf8Char utf8_at(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint8_t first = byte(at);
    if (first < 0x80) return {first, 1, true, false};
    const Lead lead = lead_of(first);
    char32_t code = first & (0x7F >> lead.size);
    uint8_t low = lead.low;
    uint8_t high = lead.high;
    for (int i = 1; i < lead.size; ++i) {
        const size_t next = at + static_cast<size_t>(i);
        if (next >= text.size()) return {0xFFFD, i, false, true};
        if (byte(next) < low || byte(next) > high) return {0xFFFD, i, false, false};
        code = (code << 6) | (byte(next) & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    if (lead.size == 0) return {0xFFFD, 1, false, false};
    return {code, lead.size, true, false};
}

bool is_utf8(std::string_view text) { return first_ill_formed(text, 0) == text.size(); }

std::string mend_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    size_t at = 0;
    while (at < text.size()) {
        const size_t bad = first_ill_formed(text, at);
        out.append(text.substr(at, bad - at));
        if (bad == text.size()) break;
        out.append(k_replacement_utf8);
        at = bad + static_cast<size_t>(utf8_at(text, bad).size);
    }
    return out;
}

void append_utf8(std::string& out, char32_t code) {
    const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | (code >> 6));
        put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | (code >> 12));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3F));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

}  // namespace ft
