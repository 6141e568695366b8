// Source of a Go template (text/template) to tokens, one at a time. `{{- ` takes away the white space before
// it, ` -}}` that behind it, newlines included; comments are no tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ft::go {

enum class TokenKind : uint8_t {
    text,
    open,      // {{
    close,     // }}
    dot,       // . alone
    field,     // .Name
    variable,  // $ or $name
    name,
    string,
    integer,  // also 'c'
    real,
    symbol,  // | ( ) , = :=
    end
};

struct Token {
    TokenKind kind = TokenKind::end;
    std::string text;     // string: its value; field: the name; variable: with its $; else as written
    int64_t integer = 0;  // of an integer
    double real = 0;      // of a real
    int line = 1;
    bool spaced = false;  // white space stands before it

    bool is(TokenKind k) const { return kind == k; }
    bool is_name(std::string_view n) const { return kind == TokenKind::name && text == n; }
    bool is_symbol(std::string_view s) const { return kind == TokenKind::symbol && text == s; }
};

// As messages name it: "the field .Role", "the end of the template".
std::string describe(const Token& token);

class Lexer {
 public:
    explicit Lexer(std::string_view source) : source_(source) {}
    // Fails (jinja::Failure with the line) on what can be no token. After the end it gives `end` for ever.
    Token next();

 private:
    Token next_text();
    void skip_comment();
    bool at_comment(size_t at) const;
    Token next_inside();
    bool closes(Token& token);
    Token string_token();
    Token raw_token();
    Token character_token();
    Token number_token();
    Token word_token();
    Token symbol_token();
    char32_t escaped(char quote);
    char32_t escaped_number(int digits, int base);

    Token token(TokenKind kind, std::string text = "") const;
    [[noreturn]] void fail(const std::string& what) const;
    void advance(size_t to);
    bool starts(std::string_view text, size_t at) const { return source_.substr(at).starts_with(text); }
    char at(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }

    std::string_view source_;
    size_t position_ = 0;
    int line_ = 1;
    bool inside_ = false;  // of {{ }}
    bool spaced_ = false;  // white space was skipped before the token
    bool trims_ = false;   // the text that follows loses its white space
    std::string bytes_;    // of an escape that stands for bytes
};

}  // namespace ft::go
