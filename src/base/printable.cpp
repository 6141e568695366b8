#include "base/printable.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace ft {

namespace {

struct Character {
    size_t length = 1;
    uint32_t code_point = 0;  // where it is no UTF-8, the byte
    bool utf8 = false;
};

Character character_at(std::string_view text, size_t at) {
    const Utf8Char c = utf8_at(text, at);
    if (!c.valid) return {1, static_cast<unsigned char>(text[at]), false};
    return {static_cast<size_t>(c.size), c.code, true};
}

bool is_obeyed(const Character& c) {
    const uint32_t p = c.code_point;
    return !c.utf8 || p < 0x20 || (p >= 0x7F && p < 0xA0) || (p >= 0x202A && p <= 0x202E) ||
           (p >= 0x2066 && p <= 0x2069) || p == 0x2028 || p == 0x2029;
}

std::string written_out(const Character& c) {
    return !c.utf8 || c.code_point < 0x80 ? fmt::format("\\x{:02x}", c.code_point)
                                          : fmt::format("\\u{:04x}", c.code_point);
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        if (out.size() >= most) return out + "…";
        const Character c = character_at(text, at);
        if (is_obeyed(c)) out += written_out(c);
        else out += text.substr(at, c.length);
        at += c.length;
    }
    return out;
}

std::string printable_lines(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const Character c = character_at(text, at);
        if (text[at] != '\r') {
            if (is_obeyed(c) && text[at] != '\n' && text[at] != '\t') out += written_out(c);
            else out += text.substr(at, c.length);
        }
        at += c.length;
    }
    return out;
}

std::string printable_json(std::string_view json) {
    std::string out;
    for (size_t at = 0; at < json.size();) {
        const Character c = character_at(json, at);
        if (is_obeyed(c) && c.code_point >= 0x7F) out += fmt::format("\\u{:04x}", c.code_point);
        else out += json.substr(at, c.length);
        at += c.length;
    }
    return out;
}

}  // namespace ft
