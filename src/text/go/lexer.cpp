#include "text/go/lexer.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/heap.h"

namespace ft::go {

namespace {

constexpr std::string_view k_go_blanks = " \t\r\n";

bool is_go_blank(char c) { return c != '\0' && k_go_blanks.find(c) != std::string_view::npos; }

// Letters beyond ASCII are taken as they are.
bool is_word(char c) {
    return is_ascii_letter(c) || is_ascii_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view without_end_blanks(std::string_view text) {
    const size_t last = text.find_last_not_of(k_go_blanks);
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::string describe(const Token& token) {
    switch (token.kind) {
        case TokenKind::end:
            return "the end of the template";
        case TokenKind::close:
            return "the end of the action";
        case TokenKind::field:
            return fmt::format("the field .{}", printable(token.text, 40));
        case TokenKind::string:
            return "a text";
        case TokenKind::integer:
        case TokenKind::real:
            return "a number";
        default:
            return printable(token.text, 40);
    }
}

Token Lexer::token(TokenKind kind, std::string text) const {
    return {.kind = kind, .text = std::move(text), .line = line_, .spaced = spaced_};
}

void Lexer::fail(const std::string& what) const { throw jinja::Failure(what, line_); }

void Lexer::advance(size_t to) {
    for (; position_ < to; position_++)
        if (source_[position_] == '\n') line_++;
}

Token Lexer::next() {
    if (inside_) return next_inside();
    while (position_ < source_.size()) {
        if (starts("{{", position_) && !trims_) {
            if (at_comment(position_)) {
                skip_comment();
                continue;
            }
            spaced_ = false;
            Token open = token(TokenKind::open, "{{");
            advance(position_ + (at(position_ + 2) == '-' && is_go_blank(at(position_ + 3)) ? 3 : 2));
            inside_ = true;
            return open;
        }
        Token text = next_text();
        if (!text.text.empty()) return text;
    }
    return token(TokenKind::end);
}

// Up to the next {{, without the white space that the tags beside it take away.
Token Lexer::next_text() {
    if (trims_) advance(std::min(source_.find_first_not_of(k_go_blanks, position_), source_.size()));
    trims_ = false;
    const size_t end = std::min(source_.find("{{", position_), source_.size());
    std::string_view text = source_.substr(position_, end - position_);
    if (at(end + 2) == '-' && is_go_blank(at(end + 3))) text = without_end_blanks(text);
    Token out = token(TokenKind::text, std::string(text));
    advance(end);
    return out;
}

bool Lexer::at_comment(size_t at_open) const {
    const bool trimmed = at(at_open + 2) == '-' && is_go_blank(at(at_open + 3));
    return starts("/*", at_open + (trimmed ? 4 : 2));
}

void Lexer::skip_comment() {
    const size_t end = source_.find("*/", position_);
    if (end == std::string_view::npos) fail("a comment is never closed");
    advance(end + 2);
    trims_ = is_go_blank(at(position_)) && at(position_ + 1) == '-';
    if (trims_) advance(position_ + 2);
    if (!starts("}}", position_)) fail("a comment is not all that stands between {{ and }}");
    advance(position_ + 2);
}

Token Lexer::next_inside() {
    const size_t begin = std::min(source_.find_first_not_of(k_go_blanks, position_), source_.size());
    spaced_ = begin > position_;
    advance(begin);
    if (position_ >= source_.size()) fail("an action is never closed by }}");
    if (Token close; closes(close)) return close;
    const char c = at(position_), after = at(position_ + 1);
    if (c == '"') return string_token();
    if (c == '`') return raw_token();
    if (c == '\'') return character_token();
    if (is_ascii_digit(c) || ((c == '+' || c == '-' || c == '.') && is_ascii_digit(after)))
        return number_token();
    if (c == '.' || c == '$' || is_word(c)) return word_token();
    return symbol_token();
}

bool Lexer::closes(Token& token_out) {
    const bool trimmed = spaced_ && starts("-}}", position_);
    if (!trimmed && !starts("}}", position_)) return false;
    token_out = token(TokenKind::close, "}}");
    advance(position_ + (trimmed ? 3 : 2));
    trims_ = trimmed;
    inside_ = false;
    return true;
}

Token Lexer::word_token() {
    const char first = at(position_);
    const size_t begin = first == '.' ? position_ + 1 : position_;
    size_t end = first == '$' ? position_ + 1 : begin;
    while (is_word(at(end))) end++;
    std::string text(source_.substr(begin, end - begin));
    const TokenKind kind = first == '$'   ? TokenKind::variable
                           : first != '.' ? TokenKind::name
                           : text.empty() ? TokenKind::dot
                                          : TokenKind::field;
    Token out = token(kind, kind == TokenKind::dot ? "." : std::move(text));
    advance(end);
    return out;
}

Token Lexer::symbol_token() {
    const std::string_view text = source_.substr(position_, starts(":=", position_) ? 2 : 1);
    if (text != ":=" && std::string_view("|(),=").find(text) == std::string_view::npos)
        fail(fmt::format("{} has no meaning in an action", printable(text, 8)));
    Token out = token(TokenKind::symbol, std::string(text));
    advance(position_ + text.size());
    return out;
}

Token Lexer::raw_token() {
    const size_t end = source_.find('`', position_ + 1);
    if (end == std::string_view::npos) fail("a text in ` is never closed");
    Token out = token(TokenKind::string, std::string(source_.substr(position_ + 1, end - position_ - 1)));
    advance(end + 1);
    return out;
}

Token Lexer::string_token() {
    Token out = token(TokenKind::string);
    advance(position_ + 1);
    while (at(position_) != '"') {
        if (position_ >= source_.size() || at(position_) == '\n') fail("a text in \" is never closed");
        if (at(position_) != '\\') {
            out.text += at(position_);
            advance(position_ + 1);
            continue;
        }
        bytes_.clear();
        const char32_t code = escaped('"');
        if (bytes_.empty()) append_utf8(out.text, code);
        else out.text += bytes_;
    }
    advance(position_ + 1);
    return out;
}

Token Lexer::character_token() {
    Token out = token(TokenKind::integer);
    advance(position_ + 1);
    if (at(position_) == '\\') {
        out.integer = escaped('\'');
    } else if (position_ < source_.size()) {
        const Utf8Char c = utf8_at(source_, position_);
        out.integer = c.code;
        advance(position_ + static_cast<size_t>(c.size));
    }
    if (at(position_) != '\'') fail("a character in ' is not one, or never closed");
    advance(position_ + 1);
    return out;
}

// The escape that begins with the \ here.
char32_t Lexer::escaped(char quote) {
    constexpr std::string_view k_letters = "abfnrtv\\", k_meant = "\a\b\f\n\r\t\v\\";
    const char c = at(position_ + 1);
    advance(std::min(position_ + 2, source_.size()));
    if (c == quote) return static_cast<char32_t>(c);
    if (const size_t i = k_letters.find(c); c != '\0' && i != std::string_view::npos)
        return static_cast<char32_t>(k_meant[i]);
    if (c == 'u') return escaped_number(4, 16);
    if (c == 'U') return escaped_number(8, 16);
    if (c == 'x') {
        const char32_t byte = escaped_number(2, 16);
        bytes_ = static_cast<char>(byte);
        return byte;
    }
    if (c >= '0' && c <= '7') {
        position_--;
        const char32_t byte = escaped_number(3, 8);
        if (byte > 0xFF) fail("an escape in a text is no byte");
        bytes_ = static_cast<char>(byte);
        return byte;
    }
    fail(fmt::format("\\{} is no escape", printable(std::string(1, c), 8)));
}

char32_t Lexer::escaped_number(int digits, int base) {
    const std::string_view text = source_.substr(position_, static_cast<size_t>(digits));
    uint32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    const bool surrogate = value >= 0xD800 && value < 0xE000;
    if (error != std::errc() || stop != text.data() + digits || value > 0x10FFFF || surrogate)
        fail("an escape in a text is no character");
    advance(position_ + text.size());
    return value;
}

Token Lexer::number_token() {
    size_t end = position_ + 1;
    const auto exponent_before = [&](size_t i) { return at(i - 1) == 'e' || at(i - 1) == 'E'; };
    while (is_word(at(end)) || at(end) == '.' || ((at(end) == '+' || at(end) == '-') && exponent_before(end)))
        end++;
    const std::string text(source_.substr(position_, end - position_));
    const bool negative = text[0] == '-';
    const std::string_view digits = std::string_view(text).substr(negative || text[0] == '+' ? 1 : 0);
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    Token out = token(TokenKind::integer, text);
    int64_t value = 0;
    const bool octal = digits.size() > 1 && digits[0] == '0';
    const std::string_view magnitude = hex ? digits.substr(2) : digits;
    const char* last = magnitude.data() + magnitude.size();
    if (const auto [stop, error] = std::from_chars(magnitude.data(), last, value,
                                                   hex     ? 16
                                                   : octal ? 8
                                                           : 10);
        error == std::errc() && stop == last && value >= 0) {
        out.integer = negative ? -value : value;
    } else {
        char* rest = nullptr;
        out.kind = TokenKind::real;
        out.real = std::strtod(text.c_str(), &rest);
        if (hex || *rest != '\0' || !std::isfinite(out.real) ||
            text.find_first_not_of("+-.0123456789eE") != std::string::npos)
            fail(fmt::format("{} is no number that is understood", printable(text, 40)));
    }
    advance(end);
    return out;
}

}  // namespace ft::go
