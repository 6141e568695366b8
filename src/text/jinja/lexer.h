// Template source to tokens, one at a time, with the white-space rules of trim_blocks and lstrip_blocks:
// a newline after a block or comment tag is dropped, blanks before such a tag that starts a line are dropped,
// - strips all white space on its side, + keeps it. CR LF and CR become LF; one LF at the very end of the
// source is dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ft::jinja {

enum class TokenKind : uint8_t {
    text,
    print_begin,
    print_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    real,
    symbol,
    end
};

struct Token {
    TokenKind kind = TokenKind::end;
    std::string text;  // of a string: its value; of everything else: as written
    int line = 1;

    bool is(TokenKind k) const { return kind == k; }
    bool is_name(std::string_view n) const { return kind == TokenKind::name && text == n; }
    bool is_symbol(std::string_view s) const { return kind == TokenKind::symbol && text == s; }
};

// How messages name a token: 'end of print statement', 'integer', '='.
std::string describe(const Token& token);

class Lexer {
 public:
    // Fails where the source is not UTF-8.
    explicit Lexer(std::string_view source);
    // Fails (with the line) on characters and tags that cannot be. After the end it gives `end` for ever.
    Token next();

 private:
    enum class State : uint8_t { text, print, block };

    Token next_text();
    Token begin_tag(size_t at);
    void skip_comment();
    void raw_text(std::string& out);
    Token next_inside();
    bool ends_tag(Token& token);
    Token string_token();
    Token number_token();
    Token symbol_token();

    void append_before_tag(std::string& out, std::string_view text, char sign, bool print);
    size_t raw_tag_length(size_t at) const;
    size_t end_tag_length(size_t at, char kind) const;
    void advance(size_t to);
    std::string_view rest(size_t from) const { return std::string_view(source_).substr(from); }
    char at(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }

    std::string source_;
    size_t position_ = 0;
    int line_ = 1;
    bool line_starts_ = true;  // the last token ended with a newline
    State state_ = State::text;
    std::string open_;  // closing brackets that are waited for, innermost last
};

}  // namespace ft::jinja
