#include "grammar/pattern.h"

#include <limits>
#include <optional>

#include "base/ascii.h"
#include "base/utf8.h"

namespace ft::grammar {

namespace {

constexpr int k_deepest_pattern = 100;
constexpr int64_t k_most_pattern_repeats = 1'000'000;

CodeSet word_chars() { return {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'_', '_'}}; }
CodeSet space_chars() {
    return {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
            {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}
CodeSet line_ends() { return {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}; }

// \d and its like; nothing: it is none.
std::optional<CodeSet> class_of_letter(char letter) {
    switch (letter) {
        case 'd':
            return CodeSet{{'0', '9'}};
        case 'D':
            return complement({{'0', '9'}});
        case 'w':
            return word_chars();
        case 'W':
            return complement(word_chars());
        case 's':
            return space_chars();
        case 'S':
            return complement(space_chars());
        default:
            return std::nullopt;
    }
}

class PatternParser {
 public:
    PatternParser(std::string_view text, JsonRules& json) : text_(text), json_(json) {}

    Expected<Expr> parse() {
        std::vector<Expr> ways;
        do {
            const bool from_begin = take("^");
            Expr way = parse_sequence(0);
            const bool to_end = take("$");
            std::vector<Expr> parts;
            if (!from_begin) parts.push_back(anything());
            parts.push_back(std::move(way));
            if (!to_end) parts.push_back(anything());
            ways.push_back(sequence_of(std::move(parts)));
        } while (!failed() && take("|"));
        if (!failed() && at_ < text_.size()) fail_here();
        if (error_) return *error_;
        return choice_of(std::move(ways));
    }

 private:
    bool failed() const { return error_.has_value(); }
    void fail(std::string what) {
        if (!error_)
            error_ = Error{Code::unsupported, std::move(what),
                           "docs/structured-output.md says what patterns may hold."};
    }
    void fail_here() {
        if (at_ >= text_.size()) return fail("it ends too early");
        const auto size = static_cast<size_t>(utf8_size(text_[at_]));
        fail(fmt::format("\"{}\" is not possible at byte {}", printable(text_.substr(at_, size)), at_));
    }

    Expr anything() { return repeated(json_.character(), 0, k_no_limit); }
    bool ends() const { return at_ >= text_.size(); }
    char peek() const { return ends() ? '\0' : text_[at_]; }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    Expr parse_choice(int depth) {
        std::vector<Expr> ways;
        do ways.push_back(parse_sequence(depth));
        while (!failed() && take("|"));
        return choice_of(std::move(ways));
    }

    Expr parse_sequence(int depth) {
        std::vector<Expr> parts;
        while (!failed() && !ends() && peek() != '|' && peek() != ')') {
            if (peek() == '$' && depth == 0 && (at_ + 1 == text_.size() || text_[at_ + 1] == '|')) break;
            Expr part = parse_item(depth);
            if (!failed()) parts.push_back(parse_repeats(std::move(part)));
        }
        return sequence_of(std::move(parts));
    }

    Expr parse_item(int depth) {
        const char c = peek();
        if (c == '^' || c == '$') {
            fail(fmt::format("\"{}\" within a pattern is not offered", c));
            return {};
        }
        if (c == '(') return parse_group(depth + 1);
        if (c == '[') return json_chars(parse_class());
        if (c == '*' || c == '+' || c == '?' || c == '{') {
            fail_here();
            return {};
        }
        if (take(".")) return json_chars(complement(line_ends()));
        return json_chars(parse_escape_or_char());
    }

    Expr parse_group(int depth) {
        if (depth > k_deepest_pattern) {
            fail(fmt::format("groups are nested deeper than {}", k_deepest_pattern));
            return {};
        }
        take("(");
        if (take("?") && !take(":")) {
            const bool is_named = take("<") && peek() != '=' && peek() != '!';
            const size_t end = text_.find('>', at_);
            if (!is_named || end == std::string_view::npos) {
                fail("(?=, (?!, (?<= and (?<! are not offered");
                return {};
            }
            at_ = end + 1;
        }
        Expr inner = parse_choice(depth);
        if (!failed() && !take(")")) fail_here();
        return inner;
    }

    Expr parse_repeats(Expr part) {
        int64_t least = 0, most = k_no_limit;
        if (take("+")) least = 1;
        else if (take("?")) most = 1;
        else if (take("{")) parse_counts(least, most);
        else if (!take("*")) return part;
        take("?");  // lazy: the same texts
        return repeated(std::move(part), least, most);
    }

    void parse_counts(int64_t& least, int64_t& most) {
        least = most = parse_count();
        if (take(",")) most = peek() == '}' ? k_no_limit : parse_count();
        if (!failed() && !take("}")) return fail_here();
        if (!failed() && most != k_no_limit && most < least)
            fail(fmt::format("a repeat of {} to {} times", least, most));
    }

    int64_t parse_count() {
        int64_t count = 0;
        const size_t from = at_;
        while (peek() >= '0' && peek() <= '9' && count <= k_most_pattern_repeats)
            count = 10 * count + (text_[at_++] - '0');
        if (at_ == from) fail_here();
        if (count > k_most_pattern_repeats) fail(fmt::format("a count of over {}", k_most_pattern_repeats));
        return count;
    }

    CodeSet parse_class() {
        take("[");
        const bool negated = take("^");
        CodeSet set;
        while (!failed() && !take("]")) {
            if (ends()) {
                fail_here();
                break;
            }
            const CodeSet first = parse_escape_or_char();
            const bool single = first.size() == 1 && first[0].first == first[0].last;
            if (!single || peek() != '-' || at_ + 1 >= text_.size() || text_[at_ + 1] == ']') {
                set.insert(set.end(), first.begin(), first.end());
                continue;
            }
            take("-");
            const CodeSet last = parse_escape_or_char();
            if (last.size() != 1 || last[0].first != last[0].last || last[0].first < first[0].first) {
                fail("a range of characters that goes backwards, or to more than one character");
                break;
            }
            set.push_back({first[0].first, last[0].first});
        }
        return negated ? complement(std::move(set)) : std::move(set);
    }

    CodeSet parse_escape_or_char() {
        char32_t code = 0;
        if (take("\\")) {
            const char letter = peek();
            if (const std::optional<CodeSet> set = class_of_letter(letter)) {
                at_++;
                return *set;
            }
            code = parse_escape(letter);
        } else {
            const Utf8Char c = utf8_at(text_, at_);
            at_ += static_cast<size_t>(c.size);
            code = c.code;
        }
        return {{code, code}};
    }

    char32_t parse_escape(char letter) {
        constexpr std::string_view k_letters = "nrtfv0", k_codes("\n\r\t\f\v\0", 6);
        if (ends()) {
            fail_here();
            return 0;
        }
        if (const size_t at = k_letters.find(letter); at != std::string_view::npos) {
            at_++;
            return static_cast<char32_t>(k_codes[at]);
        }
        if (take("x")) return parse_hex(2);
        if (take("u")) return parse_hex(4);
        if (is_ascii_letter(letter) || is_ascii_digit(letter)) {
            fail(fmt::format("\\{} is not offered", letter));
            return 0;
        }
        const Utf8Char c = utf8_at(text_, at_);
        at_ += static_cast<size_t>(c.size);
        return c.code;
    }

    char32_t parse_hex(size_t digits) {
        char32_t code = 0;
        for (size_t i = 0; i < digits; i++) {
            const int value = hex_digit(peek());
            if (ends() || value < 0) {
                fail_here();
                return 0;
            }
            code = 16 * code + static_cast<char32_t>(value);
            at_++;
        }
        return code;
    }

    std::string_view text_;
    JsonRules& json_;
    size_t at_ = 0;
    std::optional<Error> error_;
};

}  // namespace

Expected<Expr> pattern_content(std::string_view pattern, JsonRules& json) {
    if (!is_utf8(pattern)) return Error{Code::invalid, "it is not UTF-8", ""};
    return PatternParser(pattern, json).parse();
}

}  // namespace ft::grammar
