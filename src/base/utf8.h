// UTF-8: decoding one character, checking, mending. Ill-formed bytes are cut into maximal parts as in Unicode
// 15, section 3.9 (table 3-7): a part is the longest start of a well-formed character, or one byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ft {

constexpr std::string_view k_replacement_utf8 = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Char {
    char32_t code = 0;   // U+FFFD where the bytes are ill-formed
    int size = 0;        // bytes taken, at least 1: of an ill-formed part its length
    bool valid = false;  // false: ill-formed
    bool cut = false;    // ill-formed only because the text ends: more bytes could complete it
};

// The character that starts at text[at]; at < text.size().
Utf8Char utf8_at(std::string_view text, size_t at);

bool is_utf8(std::string_view text);

// text with U+FFFD for each maximal ill-formed part.
std::string mend_utf8(std::string_view text);

void append_utf8(std::string& out, char32_t code);

// Bytes of the character whose first byte is `lead`, in text that is valid UTF-8.
inline int utf8_size(char lead) {
    const auto byte = static_cast<unsigned char>(lead);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace ft
