// Numbers as Python writes, reads and computes them: integers of 64 bits (a larger result fails), IEEE
// doubles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace ft::jinja {

enum class Arithmetic : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };

// Shortest text that reads back as the same double: 1.0, 1e+16, 1e-05, inf, nan.
std::string real_text(double value);
// int(text, base): surrounding blanks, a sign, underscores, a prefix 0x 0o 0b where the base allows it.
// Nothing where Python raises ValueError; fails where the value needs more than 64 bits.
std::optional<int64_t> parse_integer(std::string_view text, int base);
// float(text): also inf, nan; a magnitude beyond the doubles gives infinity or zero.
std::optional<double> parse_real(std::string_view text);
// Digits with optional fraction and exponent, no blanks, no sign.
double real_of_digits(const std::string& digits);
// Truncated toward zero; fails for infinities, NaN and magnitudes beyond 64 bits.
int64_t truncate(double value);

// Both operands are numbers (booleans count as 0 and 1).
Value compute(Arithmetic op, const Value& a, const Value& b);
Value negate(const Value& a);
// -1, 0, 1; 2 where a NaN makes them unordered. Exact also between integers and doubles.
int compare_numbers(const Value& a, const Value& b);
// round(value, digits): halves go to the even neighbour of the exact decimal value.
double round_real(double value, int digits);

}  // namespace ft::jinja
