// Python's string operations on UTF-8 text: counting and cutting by code point, white space, letter case,
// classes. Texts are valid UTF-8. Letter case and classes come from utf8proc's Unicode tables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ft::jinja {

int64_t code_point_count(std::string_view text);
// Byte offset of code point `index`, 0 <= index <= count.
size_t byte_offset(std::string_view text, int64_t index);
// Calls visit(code point, its bytes) in order, until it returns false.
void for_code_points(std::string_view text, const std::function<bool(char32_t, std::string_view)>& visit);

bool is_space(char32_t c);      // str.isspace: also U+001C..1F, U+0085, U+00A0 and the other Unicode blanks
bool is_word(char32_t c);       // \w: letters, marks in names, digits, underscore
bool is_printable(char32_t c);  // what repr() leaves as it is

enum class Side { left, right, both };
// Without `chars` white space is removed, else any code point that `chars` holds.
std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> chars = {});
bool all_space(std::string_view text);

std::vector<std::string_view> split_space(std::string_view text, int64_t most = -1);
std::vector<std::string_view> split_space_right(std::string_view text, int64_t most);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);       // each run of letters starts with a capital
std::string capitalize(std::string_view text);  // only the first character is one
std::string swap_case(std::string_view text);

// The str.is…() family: every code point has the property and there is one, or as Python defines it for case.
bool is_alpha(std::string_view text);
bool is_alnum(std::string_view text);
bool is_digit(std::string_view text);
bool is_decimal(std::string_view text);
bool is_lower(std::string_view text);
bool is_upper(std::string_view text);
bool is_title(std::string_view text);
bool is_identifier(std::string_view text);

}  // namespace ft::jinja
