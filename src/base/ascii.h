// The letters and digits of ASCII, the same under any locale. No other byte is one, those of UTF-8 included.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace ft {

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string ascii_lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = ascii_lower(c);
    return out;
}

constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_ascii_letter(char c) { return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'; }

// -1: c is no hexadecimal digit.
constexpr int hex_digit(char c) {
    if (is_ascii_digit(c)) return c - '0';
    const char small = ascii_lower(c);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

constexpr bool same_in_any_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}
constexpr bool begins_in_any_case(std::string_view text, std::string_view beginning) {
    return same_in_any_case(text.substr(0, beginning.size()), beginning);
}

}  // namespace ft
