#include "text/jinja/lexer.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/code_points.h"
#include "text/jinja/heap.h"

namespace ft::jinja {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string with_unix_newlines(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '\r') {
            out += text[i];
            continue;
        }
        out += '\n';
        if (i + 1 < text.size() && text[i + 1] == '\n') i++;
    }
    return out;
}

// Bytes of white space that `text` starts with.
size_t space_length(std::string_view text) { return text.size() - strip(text, Side::left).size(); }

// Digits with single underscores between them: the bytes taken.
template <class Accepted>
size_t digits_length(std::string_view text, Accepted accepted) {
    size_t n = 0;
    while (n < text.size()) {
        if (accepted(text[n])) n++;
        else if (text[n] == '_' && n > 0 && n + 1 < text.size() && accepted(text[n + 1])) n++;
        else break;
    }
    return n;
}

// Bytes of a number with fraction or exponent at the start of text, 0 when there is none.
size_t real_length(std::string_view text) {
    const size_t whole = digits_length(text, is_digit);
    if (whole == 0) return 0;
    size_t n = whole;
    if (n + 1 < text.size() && text[n] == '.' && is_digit(text[n + 1]))
        n += 1 + digits_length(text.substr(n + 1), is_digit);
    if (n < text.size() && (text[n] | 0x20) == 'e') {
        const size_t sign = n + 1 < text.size() && (text[n + 1] == '+' || text[n + 1] == '-') ? 1 : 0;
        const size_t exponent = digits_length(text.substr(std::min(n + 1 + sign, text.size())), is_digit);
        if (exponent > 0) n += 1 + sign + exponent;
    }
    return n > whole ? n : 0;
}

size_t integer_length(std::string_view text) {
    if (text.size() > 1 && text[0] == '0') {
        const char mark = static_cast<char>(text[1] | 0x20);
        const auto accepted = [mark](char c) {
            if (mark == 'x') return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
            return mark == 'o' ? c >= '0' && c <= '7' : c == '0' || c == '1';
        };
        if (mark == 'x' || mark == 'o' || mark == 'b') {
            const size_t skip = text.size() > 2 && text[2] == '_' ? 3 : 2;
            const size_t n = digits_length(text.substr(std::min(skip, text.size())), accepted);
            if (n > 0) return skip + n;
        }
    }
    if (text[0] == '0') return digits_length(text, [](char c) { return c == '0'; });
    return digits_length(text, is_digit);
}

// The escapes of a Python string literal.
class Unescape {
 public:
    Unescape(std::string_view text, int line) : text_(text), line_(line) {}

    std::string run() {
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '\\' && at_ < text_.size()) escape(text_[at_++]);
            else out_ += c;
        }
        return std::move(out_);
    }

 private:
    void escape(char c) {
        constexpr std::string_view k_letters = "abfnrtv\\'\"";
        constexpr std::string_view k_meanings = "\a\b\f\n\r\t\v\\'\"";
        if (const size_t i = k_letters.find(c); i != std::string_view::npos) out_ += k_meanings[i];
        else if (c == '\n') return;
        else if (c == 'x') code_point(2);
        else if (c == 'u') code_point(4);
        else if (c == 'U') code_point(8);
        else if (c >= '0' && c <= '7') octal();
        else if (c == 'N') throw Failure("\\N escapes in strings are not supported", line_);
        else (out_ += '\\') += c;
    }

    void octal() {
        uint32_t code = 0;
        at_--;
        for (int n = 0; n < 3 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; n++)
            code = code * 8 + static_cast<uint32_t>(text_[at_++] - '0');
        append_utf8(out_, code);
    }

    void code_point(size_t digits) {
        uint32_t code = 0;
        const std::string hex(text_.substr(at_, digits));
        if (hex.size() < digits || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
            throw Failure("a string holds a truncated \\x, \\u or \\U escape", line_);
        code = static_cast<uint32_t>(std::stoul(hex, nullptr, 16));
        if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
            throw Failure(fmt::format("a string holds the escape \\{} that is no character", hex), line_);
        at_ += digits;
        append_utf8(out_, code);
    }

    std::string_view text_;
    int line_;
    size_t at_ = 0;
    std::string out_;
};

}  // namespace

std::string describe(const Token& token) {
    switch (token.kind) {
        case TokenKind::text:
            return "template text";
        case TokenKind::print_begin:
            return "begin of print statement";
        case TokenKind::print_end:
            return "end of print statement";
        case TokenKind::block_begin:
            return "begin of statement block";
        case TokenKind::block_end:
            return "end of statement block";
        case TokenKind::string:
            return "string";
        case TokenKind::integer:
            return "integer";
        case TokenKind::real:
            return "float";
        case TokenKind::end:
            return "end of template";
        case TokenKind::name:
        case TokenKind::symbol:
            break;
    }
    return printable(token.text, 60);
}

Lexer::Lexer(std::string_view source) : source_(with_unix_newlines(source)) {
    if (!is_utf8(source_)) throw Failure("the template is not UTF-8 text", 1);
    if (!source_.empty() && source_.back() == '\n') source_.pop_back();
}

void Lexer::advance(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(position_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    position_ = to;
}

Token Lexer::next() { return state_ == State::text ? next_text() : next_inside(); }

// Text up to the next tag, less the blanks that the tag's sign or its place at the start of a line removes.
void Lexer::append_before_tag(std::string& out, std::string_view text, char sign, bool print) {
    if (sign == '-') {
        out += strip(text, Side::right);
        return;
    }
    if (sign != '+' && !print) {
        const size_t newline = text.rfind('\n');
        const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
        if ((begin > 0 || line_starts_) && all_space(text.substr(begin))) text = text.substr(0, begin);
    }
    out += text;
}

Token Lexer::next_text() {
    Token token{TokenKind::text, "", line_};
    for (;;) {
        size_t tag = position_;
        while ((tag = source_.find('{', tag)) != std::string::npos && at(tag + 1) != '{' &&
               at(tag + 1) != '%' && at(tag + 1) != '#')
            tag++;
        if (tag == std::string::npos) {
            token.text += rest(position_);
            advance(source_.size());
            if (token.text.empty()) token.kind = TokenKind::end;
            return token;
        }
        const char kind = at(tag + 1);
        const char sign = at(tag + 2) == '-' || at(tag + 2) == '+' ? at(tag + 2) : '\0';
        append_before_tag(token.text, rest(position_).substr(0, tag - position_), sign, kind == '{');
        const size_t raw = kind == '%' ? raw_tag_length(tag) : 0;
        const bool is_tag = kind != '#' && raw == 0;
        if (is_tag && !token.text.empty()) {
            advance(tag);
            // The blanks are settled: what is left before the tag is nothing.
            return token;
        }
        if (is_tag) return begin_tag(tag);
        if (kind == '#') {
            advance(tag + (sign != '\0' ? 3 : 2));
            skip_comment();
        } else {
            advance(tag + raw);
            line_starts_ = at(position_ - 1) == '\n';
            raw_text(token.text);
        }
        if (token.text.empty()) token.line = line_;
    }
}

Token Lexer::begin_tag(size_t tag) {
    advance(tag);
    const Token token{at(tag + 1) == '{' ? TokenKind::print_begin : TokenKind::block_begin, "", line_};
    const bool sign = at(tag + 2) == '-' || at(tag + 2) == '+';
    advance(tag + (sign ? 3 : 2));
    state_ = token.kind == TokenKind::print_begin ? State::print : State::block;
    open_.clear();
    return token;
}

// Bytes of a tag's end at i: +%} keeps what follows, -%} drops white space, %} drops one newline. kind is the
// character before the closing brace. 0: no end here.
size_t Lexer::end_tag_length(size_t i, char kind) const {
    if (at(i) == '-' && at(i + 1) == kind && at(i + 2) == '}') return 3 + space_length(rest(i + 3));
    if (kind == '}') return at(i) == '}' && at(i + 1) == '}' ? 2 : 0;
    if (at(i) == '+' && at(i + 1) == kind && at(i + 2) == '}') return 3;
    if (at(i) == kind && at(i + 1) == '}') return at(i + 2) == '\n' ? 3 : 2;
    return 0;
}

// Bytes of {% raw %} at i with what its sign drops, 0 when it is another tag.
size_t Lexer::raw_tag_length(size_t i) const {
    size_t n = i + 2;
    if (at(n) == '-' || at(n) == '+') n++;
    n += space_length(rest(n));
    if (!rest(n).starts_with("raw")) return 0;
    n += 3;
    n += space_length(rest(n));
    if (rest(n).starts_with("-%}")) return n + 3 + space_length(rest(n + 3)) - i;
    return rest(n).starts_with("%}") ? n + 2 - i : 0;
}

void Lexer::skip_comment() {
    const int begin_line = line_;
    for (size_t i = position_; (i = source_.find('}', i)) != std::string::npos; i++) {
        // The end is a sign, if there is one, and #}.
        const size_t hash = i > position_ && at(i - 1) == '#' ? i - 1 : 0;
        if (hash == 0) continue;
        const bool sign = hash > position_ && (at(hash - 1) == '-' || at(hash - 1) == '+');
        const size_t from = sign ? hash - 1 : hash;
        advance(from + end_tag_length(from, '#'));
        line_starts_ = at(position_ - 1) == '\n';
        return;
    }
    throw Failure("Missing end of comment tag", begin_line);
}

void Lexer::raw_text(std::string& out) {
    const int begin_line = line_;
    for (size_t i = position_; (i = source_.find("{%", i)) != std::string::npos; i++) {
        size_t n = i + 2;
        const char sign = at(n) == '-' || at(n) == '+' ? at(n) : '\0';
        if (sign != '\0') n++;
        n += space_length(rest(n));
        if (!rest(n).starts_with("endraw")) continue;
        n += 6;
        n += space_length(rest(n));
        const size_t end = end_tag_length(n, '%');
        if (end == 0) continue;
        append_before_tag(out, rest(position_).substr(0, i - position_), sign, false);
        advance(n + end);
        line_starts_ = at(position_ - 1) == '\n';
        return;
    }
    throw Failure("Missing end of raw directive", begin_line);
}

bool Lexer::ends_tag(Token& token) {
    if (!open_.empty()) return false;
    const char kind = state_ == State::print ? '}' : '%';
    const size_t length = end_tag_length(position_, kind);
    if (length == 0) return false;
    token = {state_ == State::print ? TokenKind::print_end : TokenKind::block_end, "", line_};
    advance(position_ + length);
    line_starts_ = at(position_ - 1) == '\n';
    state_ = State::text;
    return true;
}

Token Lexer::next_inside() {
    advance(position_ + space_length(rest(position_)));
    if (position_ >= source_.size()) return {TokenKind::end, "", line_};
    Token token;
    if (ends_tag(token)) return token;
    const char c = at(position_);
    if (is_digit(c)) return number_token();
    if (c == '\'' || c == '"') return string_token();
    size_t length = 0;
    for_code_points(rest(position_), [&](char32_t code, std::string_view bytes) {
        const bool word = is_word(code) ||
                          (code >= 0x80 && !is_space(code) && is_identifier(std::string("_").append(bytes)));
        length += word ? bytes.size() : 0;
        return word;
    });
    if (length == 0) return symbol_token();
    token = {TokenKind::name, std::string(rest(position_).substr(0, length)), line_};
    if (!is_identifier(token.text)) throw Failure("Invalid character in identifier", line_);
    advance(position_ + length);
    return token;
}

Token Lexer::string_token() {
    const char quote = at(position_);
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
        throw Failure(fmt::format("unexpected char {} (a string that does not end)", quote), line_);
    const std::string_view body = rest(position_ + 1).substr(0, end - position_ - 1);
    Token token{TokenKind::string, Unescape(body, line_).run(), line_};
    advance(end + 1);
    return token;
}

Token Lexer::number_token() {
    const bool after_dot = position_ > 0 && at(position_ - 1) == '.';
    size_t length = after_dot ? 0 : real_length(rest(position_));
    const TokenKind kind = length > 0 ? TokenKind::real : TokenKind::integer;
    if (length == 0) length = integer_length(rest(position_));
    Token token{kind, std::string(rest(position_).substr(0, length)), line_};
    advance(position_ + length);
    return token;
}

Token Lexer::symbol_token() {
    constexpr std::string_view k_symbols[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                              "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                              ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    Token token{TokenKind::symbol, "", line_};
    for (const std::string_view symbol : k_symbols) {
        if (!rest(position_).starts_with(symbol)) continue;
        token.text = symbol;
        break;
    }
    if (token.text.empty()) {
        const Utf8Char c = utf8_at(source_, position_);
        throw Failure(fmt::format("unexpected char '{}'",
                                  printable(rest(position_).substr(0, static_cast<size_t>(c.size)))),
                      line_);
    }
    const char c = token.text[0];
    if (c == '(') open_ += ')';
    else if (c == '[') open_ += ']';
    else if (c == '{') open_ += '}';
    else if (c == ')' || c == ']' || c == '}') {
        if (open_.empty()) throw Failure(fmt::format("unexpected '{}'", c), line_);
        if (open_.back() != c)
            throw Failure(fmt::format("unexpected '{}', expected '{}'", c, open_.back()), line_);
        open_.pop_back();
    }
    advance(position_ + token.text.size());
    return token;
}

}  // namespace ft::jinja
