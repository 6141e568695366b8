// A number in plain decimal, without looking at the locale.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace ft {

// The whole text is one number: no spaces, no plus sign, no other base. Nothing where it is not, or does not
// fit. A floating Number takes nan and inf as well: compare with the range that is wanted.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace ft
