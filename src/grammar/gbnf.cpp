#include "grammar/gbnf.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/ascii.h"
#include "base/utf8.h"
#include "grammar/grammar.h"
#include "grammar/machine.h"

namespace ft::grammar {

namespace {

constexpr int k_deepest_group = 100;
constexpr int64_t k_most_repeats = std::numeric_limits<int32_t>::max();

bool is_name_char(char c) { return is_ascii_letter(c) || is_ascii_digit(c) || c == '-' || c == '_'; }

// The first error is kept, and ends the parsing: every loop looks at failed().
class GbnfParser {
 public:
    explicit GbnfParser(std::string_view text) : text_(text) { rule_of_name("root"); }

    Expected<Rules> parse() {
        skip_blanks(true);
        while (!failed() && at_ < text_.size()) {
            parse_rule();
            skip_blanks(true);
        }
        if (!failed() && defined_[0] == 0)
            fail_at_end("there is no rule \"root\"", "root ::= … is the whole text.");
        for (size_t i = 0; i < defined_.size() && !failed(); i++)
            if (defined_[i] == 0)
                fail_at_end(fmt::format("rule \"{}\" is used, but not there", printable(rules_.names[i])),
                            "Add it, or mend the name.");
        if (error_) return *error_;
        return std::move(rules_);
    }

 private:
    bool failed() const { return error_.has_value(); }

    void fail_at_end(std::string what, std::string remedy) {
        if (!error_) error_ = Error{Code::invalid, "grammar: " + std::move(what), std::move(remedy)};
    }

    void fail(std::string_view what, std::string remedy = "") {
        const auto line =
            1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
        if (!error_)
            error_ = Error{Code::invalid, fmt::format("grammar, line {}: {}", line, what), std::move(remedy)};
    }

    void fail_here(std::string_view wanted) {
        if (at_ >= text_.size()) return fail(fmt::format("it ends where {} is expected", wanted));
        const auto size = static_cast<size_t>(utf8_size(text_[at_]));
        fail(fmt::format("\"{}\" where {} is expected", printable(text_.substr(at_, size)), wanted));
    }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    // And comments; with `lines` the ends of lines too.
    void skip_blanks(bool lines) {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
            else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) at_++;
            else return;
        }
    }

    std::string_view take_name() {
        const size_t from = at_;
        while (at_ < text_.size() && is_name_char(text_[at_])) at_++;
        return text_.substr(from, at_ - from);
    }

    int rule_of_name(std::string_view name) {
        const auto [found, is_new] =
            number_of_.try_emplace(std::string(name), static_cast<int>(defined_.size()));
        if (is_new) {
            rules_.add(std::string(name));
            defined_.push_back(0);
            if (defined_.size() > k_most_rules) fail("it has too many rules", "Write it shorter.");
        }
        return found->second;
    }

    void parse_rule() {
        const std::string_view name = take_name();
        if (name.empty()) return fail_here("the name of a rule");
        const auto rule = static_cast<size_t>(rule_of_name(name));
        if (defined_[rule]++ != 0)
            return fail(fmt::format("rule \"{}\" is there twice", printable(name)), "Join the two with |.");
        skip_blanks(false);
        if (!take("::=")) return fail_here("::=");
        skip_blanks(true);
        Expr body = parse_choice(0);
        if (failed()) return;
        rules_.bodies[rule] = std::move(body);
        if (at_ < text_.size() && peek() != '\n' && peek() != '\r') fail_here("|, or the end of the line");
    }

    // depth: groups around it.
    Expr parse_choice(int depth) {
        std::vector<Expr> ways;
        for (;;) {
            ways.push_back(parse_sequence(depth));
            if (failed()) return {};
            const size_t end = at_;
            skip_blanks(true);  // a line that begins with | goes on with the rule
            if (!take("|")) {
                if (depth == 0) at_ = end;
                break;
            }
            skip_blanks(true);
        }
        return ways.size() == 1 ? std::move(ways[0]) : choice_of(std::move(ways));
    }

    Expr parse_sequence(int depth) {
        std::vector<Expr> parts;
        for (skip_blanks(depth > 0); !failed(); skip_blanks(depth > 0)) {
            std::optional<Expr> part = parse_item(depth);
            if (failed()) return {};
            if (!part) break;
            skip_blanks(depth > 0);
            parts.push_back(parse_repeats(std::move(*part)));
        }
        if (parts.empty()) return text_of("");
        return parts.size() == 1 ? std::move(parts[0]) : sequence_of(std::move(parts));
    }

    std::optional<Expr> parse_item(int depth) {
        const char c = peek();
        if (c == '"') return parse_text();
        if (c == '[') return parse_class();
        if (c == '(') return parse_group(depth + 1);
        if (c == '<' || c == '!') {
            fail("<token> is not offered", "Write the token's text in quotes.");
            return std::nullopt;
        }
        if (take(".")) return one_char(complement({}));
        if (!is_name_char(c) || at_ >= text_.size()) return std::nullopt;
        return rule_of(rule_of_name(take_name()));
    }

    Expr parse_group(int depth) {
        if (depth > k_deepest_group) {
            fail(fmt::format("groups are nested deeper than {}", k_deepest_group),
                 "Give the inner ones rules.");
            return {};
        }
        take("(");
        Expr inner = parse_choice(depth);
        skip_blanks(true);
        if (!failed() && !take(")")) fail_here(") at the end of a group");
        return inner;
    }

    // What stands behind `part`: * + ? {m} {m,} {m,n}, several of them too.
    Expr parse_repeats(Expr part) {
        for (int n = 0; !failed(); n++) {
            int64_t least = 0, most = k_no_limit;
            if (take("+")) least = 1;
            else if (take("?")) most = 1;
            else if (take("{")) parse_counts(least, most);
            else if (!take("*")) return part;
            if (n >= 8) fail("too many repeats of the same part", "Leave some of them out.");
            part = repeated(std::move(part), least, most);
            skip_blanks(false);
        }
        return part;
    }

    void parse_counts(int64_t& least, int64_t& most) {
        skip_blanks(false);
        least = most = parse_count();
        skip_blanks(false);
        if (!failed() && take(",")) {
            skip_blanks(false);
            most = peek() == '}' ? k_no_limit : parse_count();
            skip_blanks(false);
        }
        if (failed()) return;
        if (!take("}")) return fail_here("} behind the counts of a repeat");
        if (most != k_no_limit && most < least)
            fail(fmt::format("a repeat of {} to {} times", least, most), "Write the smaller count first.");
    }

    int64_t parse_count() {
        int64_t count = 0;
        const size_t from = at_;
        while (peek() >= '0' && peek() <= '9' && count <= k_most_repeats)
            count = 10 * count + (text_[at_++] - '0');
        if (at_ == from) fail_here("a count");
        if (count > k_most_repeats) fail("a count of over 2147483647", "Write {m,} for any number.");
        return count;
    }

    Expr parse_text() {
        std::string text;
        take("\"");
        while (!failed() && !take("\"")) {
            if (at_ >= text_.size() || peek() == '\n') {
                fail("a text in quotes has no end", "Close it by \"; an end of line is \\n.");
                break;
            }
            append_utf8(text, parse_char());
        }
        return text_of(std::move(text));
    }

    Expr parse_class() {
        take("[");
        const bool negated = take("^");
        CodeSet set;
        while (!failed() && !take("]")) {
            if (at_ >= text_.size() || peek() == '\n') {
                fail("a class of characters has no end", "Close it by ]; an end of line is \\n.");
                break;
            }
            CodeRange range = {parse_char(), 0};
            range.last = range.first;
            if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
                take("-");
                range.last = parse_char();
            }
            if (range.last < range.first) fail("a range of characters that goes backwards", "Turn it round.");
            set.push_back(range);
        }
        if (!failed() && set.empty() && !negated) fail("a class of no characters", "Name some.");
        return one_char(negated ? complement(std::move(set)) : std::move(set));
    }

    char32_t parse_char() {
        if (!take("\\")) {
            const Utf8Char c = utf8_at(text_, at_);
            at_ += static_cast<size_t>(c.size);
            return c.code;
        }
        const char kind = peek();
        const size_t before = at_;
        if (at_ < text_.size()) at_++;
        switch (kind) {
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'x':
                return parse_hex(2);
            case 'u':
                return parse_hex(4);
            case 'U':
                return parse_hex(8);
            case '\\':
            case '"':
            case '[':
            case ']':
            case '-':
            case '^':
                return static_cast<char32_t>(kind);
            default:
                at_ = before;
                fail_here("n, r, t, x, u, U, or the character itself behind a backslash");
                return 0;
        }
    }

    char32_t parse_hex(int digits) {
        uint64_t code = 0;
        for (int i = 0; i < digits; i++) {
            const int value = hex_digit(peek());
            if (value < 0) {
                fail_here(fmt::format("one of {} hexadecimal digits", digits));
                return 0;
            }
            code = 16 * code + static_cast<uint64_t>(value);
            at_++;
        }
        if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
            fail("an escape that stands for no character", "Codes end at 10FFFF, without D800 to DFFF.");
        return static_cast<char32_t>(code);
    }

    std::string_view text_;
    size_t at_ = 0;
    Rules rules_;
    std::vector<int> defined_;  // of rules: how often
    std::unordered_map<std::string, int> number_of_;
    std::optional<Error> error_;
};

}  // namespace

Expected<Rules> parse_gbnf(std::string_view text) {
    if (text.size() > k_largest_grammar_bytes)
        return Error{
            Code::too_large,
            fmt::format("grammar: it has {} bytes, and may have {}", text.size(), k_largest_grammar_bytes),
            "Write it shorter."};
    if (!is_utf8(text)) return Error{Code::invalid, "grammar: it is not UTF-8", "Save it as UTF-8."};
    return GbnfParser(text).parse();
}

}  // namespace ft::grammar
