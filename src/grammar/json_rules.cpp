#include "grammar/json_rules.h"

#include <fmt/format.h>

namespace ft::grammar {

namespace {

CodeSet digits() { return {{'0', '9'}}; }
CodeSet hex_digits() { return {{'0', '9'}, {'a', 'f'}, {'A', 'F'}}; }

Expr hex(int n) { return repeated(one_char(hex_digits()), n, n); }

// \uXXXX for one character: no surrogate, or two that belong together.
Expr unicode_escape() {
    const CodeSet d = {{'d', 'd'}, {'D', 'D'}};
    return in_order(
        text_of("u"),
        either(in_order(one_char({{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}}), hex(3)),
               in_order(one_char(d), one_char({{'0', '7'}}), hex(2)),
               in_order(one_char(d), one_char({{'8', '9'}, {'a', 'b'}, {'A', 'B'}}), hex(2), text_of("\\u"),
                        one_char(d), one_char({{'c', 'f'}, {'C', 'F'}}), hex(2))));
}

Expr string_character() {
    const CodeSet letters = {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'},
                             {'f', 'f'}, {'n', 'n'},   {'r', 'r'}, {'t', 't'}};
    return either(one_char(unescaped_chars()),
                  in_order(text_of("\\"), either(one_char(letters), unicode_escape())));
}

Expr natural(int most_digits) {
    return either(text_of("0"),
                  in_order(one_char({{'1', '9'}}), repeated(one_char(digits()), 0, most_digits - 1)));
}

Expr any_number() {
    const Expr fraction = in_order(text_of("."), repeated(one_char(digits()), 1, 16));
    const Expr exponent =
        in_order(one_char({{'e', 'e'}, {'E', 'E'}}), maybe(one_char({{'+', '+'}, {'-', '-'}})),
                 repeated(one_char(digits()), 1, 2));
    return in_order(maybe(text_of("-")), natural(16), maybe(fraction), maybe(exponent));
}

// The short form of an escaped character.
std::string escape_of(char32_t code) {
    switch (code) {
        case '"':
            return "\\\"";
        case '\\':
            return "\\\\";
        case '\b':
            return "\\b";
        case '\f':
            return "\\f";
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            return fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
    }
}

Expr digit_between(char first, char last) {
    return one_char({{static_cast<char32_t>(first), static_cast<char32_t>(last)}});
}

Expr any_digits(size_t n) {
    return repeated(one_char(digits()), static_cast<int64_t>(n), static_cast<int64_t>(n));
}

// Of as many digits as `least` has.
Expr digits_from(std::string_view least) {
    if (least.empty()) return text_of("");
    const Expr same = in_order(text_of(std::string(1, least[0])), digits_from(least.substr(1)));
    if (least[0] == '9') return same;
    return either(
        same, in_order(digit_between(static_cast<char>(least[0] + 1), '9'), any_digits(least.size() - 1)));
}

Expr digits_up_to(std::string_view most) {
    if (most.empty()) return text_of("");
    const Expr same = in_order(text_of(std::string(1, most[0])), digits_up_to(most.substr(1)));
    if (most[0] == '0') return same;
    return either(same,
                  in_order(digit_between('0', static_cast<char>(most[0] - 1)), any_digits(most.size() - 1)));
}

// Both of the same length.
Expr digits_between(std::string_view least, std::string_view most) {
    if (least.empty()) return text_of("");
    if (least[0] == most[0])
        return in_order(text_of(std::string(1, least[0])), digits_between(least.substr(1), most.substr(1)));
    std::vector<Expr> ways;
    ways.push_back(in_order(text_of(std::string(1, least[0])), digits_from(least.substr(1))));
    ways.push_back(in_order(text_of(std::string(1, most[0])), digits_up_to(most.substr(1))));
    if (least[0] + 1 < most[0])
        ways.push_back(
            in_order(digit_between(static_cast<char>(least[0] + 1), static_cast<char>(most[0] - 1)),
                     any_digits(least.size() - 1)));
    return choice_of(std::move(ways));
}

Expr naturals_between(int64_t least, int64_t most) {
    std::vector<Expr> ways;
    for (int64_t from = least; from <= most;) {
        const std::string first = std::to_string(from);
        std::string last(first.size(), '9');
        const int64_t longest = std::stoll(last);
        if (longest > most) last = std::to_string(most);
        ways.push_back(digits_between(first, last));
        from = longest + 1;
    }
    return choice_of(std::move(ways));
}

// From least to most, both at least 0, without the sign; nothing where there is none.
void add_reals(const RealBounds& b, const char* sign, std::vector<Expr>& ways) {
    const auto add = [&](Expr whole, Expr decimals) {
        ways.push_back(in_order(text_of(sign), std::move(whole), std::move(decimals)));
    };
    const Expr any = maybe(in_order(text_of("."), repeated(one_char(digits()), 1, 15)));
    const Expr zeros = maybe(in_order(text_of("."), repeated(text_of("0"), 1, 15)));
    const Expr more = in_order(text_of("."), repeated(one_char(digits()), 0, 14), one_char({{'1', '9'}}));
    const Expr least = text_of(std::to_string(b.least)), most = text_of(std::to_string(b.most));
    if (b.least == b.most) {
        if (!b.without_least && !b.without_most) add(least, zeros);
        return;
    }
    const int64_t from = b.without_least ? b.least + 1 : b.least;
    if (b.without_least) add(least, more);
    if (from < b.most) add(naturals_between(from, b.most - 1), any);
    if (!b.without_most) add(most, zeros);
}

}  // namespace

CodeSet unescaped_chars() { return complement({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}); }

Expr json_chars(const CodeSet& set) {
    std::vector<std::string> escapes;
    for (const CodeRange& range : common(set, complement(unescaped_chars())))
        for (char32_t code = range.first; code <= range.last; code++) escapes.push_back(escape_of(code));
    Expr plain = one_char(common(set, unescaped_chars()));
    if (escapes.empty()) return plain;
    return either(std::move(plain), any_text_of(std::move(escapes)));
}

Expr integers_between(int64_t least, int64_t most) {
    std::vector<Expr> ways;
    if (least < 0)
        ways.push_back(in_order(text_of("-"), naturals_between(std::max<int64_t>(1, -most), -least)));
    if (most >= 0) ways.push_back(naturals_between(std::max<int64_t>(0, least), most));
    return choice_of(std::move(ways));
}

Expr reals_between(const RealBounds& b) {
    std::vector<Expr> ways;
    if (b.least < 0) {
        const bool to_zero = b.most > 0;
        add_reals({to_zero ? 0 : -b.most, -b.least, !to_zero && b.without_most, b.without_least}, "-", ways);
    }
    if (b.most >= 0)
        add_reals({std::max<int64_t>(0, b.least), b.most, b.least >= 0 && b.without_least, b.without_most},
                  "", ways);
    return choice_of(std::move(ways));
}

Expr JsonRules::shared(Part part) {
    int& id = ids_[static_cast<size_t>(part)];
    if (id < 0) {
        constexpr const char* k_names[] = {"JSON value",     "JSON object", "JSON array",   "JSON string",
                                           "JSON character", "JSON number", "JSON integer", "JSON gap"};
        id = rules_.add(k_names[static_cast<size_t>(part)]);  // before its body, which may name it
        Expr body = made(part);
        rules_.bodies[static_cast<size_t>(id)] = std::move(body);
    }
    return rule_of(id);
}

Expr JsonRules::made(Part part) {
    switch (part) {
        case Part::value:
            return either(object(), array(), string(), number(), any_text_of({"true", "false", "null"}));
        case Part::object: {
            const Expr one = member(string(), value());
            return enclosed("{", maybe(in_order(one, further(one, 0, k_no_limit), gap())), "}");
        }
        case Part::array:
            return enclosed("[", maybe(in_order(value(), further(value(), 0, k_no_limit), gap())), "]");
        case Part::string:
            return string_of(0, k_no_limit);
        case Part::character:
            return string_character();
        case Part::number:
            return any_number();
        case Part::integer:
            return in_order(maybe(text_of("-")), natural(k_most_integer_digits));
        case Part::gap:
            return either(text_of(""), text_of(" "),
                          in_order(text_of("\n"), repeated(text_of(" "), 0, k_most_indent)));
    }
    return {};
}

Expr JsonRules::string_of(int64_t least, int64_t most) {
    return in_order(text_of("\""), repeated(character(), least, most), text_of("\""));
}

Expr JsonRules::member(Expr key, Expr value) {
    return in_order(std::move(key), text_of(":"), maybe(text_of(" ")), std::move(value));
}

Expr JsonRules::enclosed(const char* open, Expr inner, const char* close) {
    return in_order(text_of(open), gap(), std::move(inner), text_of(close));
}

Expr JsonRules::further(Expr item, int64_t least, int64_t most) {
    return repeated(in_order(text_of(","), gap(), std::move(item)), least, most);
}

}  // namespace ft::grammar
