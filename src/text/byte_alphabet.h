// The alphabet in which byte-level vocabularies are written (GPT-2's): a printable character for each byte.
// Bytes 33-126, 161-172 and 174-255 stand for themselves; the other 68 are U+0100, U+0101, ... in rising
// order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ft {

char32_t letter_of_byte(uint8_t byte);
std::optional<uint8_t> byte_of_letter(char32_t letter);

// The bytes as letters, as a vocabulary spells them.
void append_letters(std::string& out, std::string_view bytes);

// What the letters stand for; characters outside the alphabet stand for themselves.
void append_bytes_of_letters(std::string& out, std::string_view letters);

}  // namespace ft
