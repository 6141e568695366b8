#include "text/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace ft {

namespace {

struct Alphabet {
    std::array<uint16_t, 256> letter{};
    std::array<int16_t, 0x100 + 68> byte{};  // -1: no letter

    constexpr Alphabet() {
        byte.fill(-1);
        uint16_t next = 0x100;
        for (int b = 0; b < 256; ++b) {
            const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
            const uint16_t l = printable ? static_cast<uint16_t>(b) : next++;
            letter[static_cast<size_t>(b)] = l;
            byte[l] = static_cast<int16_t>(b);
        }
    }
};

constexpr Alphabet k_alphabet;

}  // namespace

char32_t letter_of_byte(uint8_t byte) { return k_alphabet.letter[byte]; }

std::optional<uint8_t> byte_of_letter(char32_t letter) {
    if (letter >= k_alphabet.byte.size() || k_alphabet.byte[letter] < 0) return std::nullopt;
    return static_cast<uint8_t>(k_alphabet.byte[letter]);
}

void append_letters(std::string& out, std::string_view bytes) {
    for (const char c : bytes) append_utf8(out, letter_of_byte(static_cast<uint8_t>(c)));
}

void append_bytes_of_letters(std::string& out, std::string_view letters) {
    for (size_t at = 0; at < letters.size();) {
        const Utf8Char c = utf8_at(letters, at);
        const auto byte = c.valid ? byte_of_letter(c.code) : std::nullopt;
        if (byte) {
            out.push_back(static_cast<char>(*byte));
        } else {
            out.append(letters.substr(at, static_cast<size_t>(c.size)));
        }
        at += static_cast<size_t>(c.size);
    }
}

}  // namespace ft
