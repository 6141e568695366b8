#include "grammar/object_keys.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/utf8.h"
#include "grammar/json_rules.h"

namespace ft::grammar {

namespace {

constexpr size_t k_longest_look = 64;  // characters that a key may have in common with a name

using Name = std::u32string;

// What follows when the first `done` characters are those of all of `names`, which are sorted.
Expr rest_of_key(std::span<const Name> names, size_t done) {
    std::vector<Expr> ways;
    CodeSet taken;
    if (names.empty() || names.front().size() > done) ways.push_back(text_of("\""));
    for (size_t i = 0; i < names.size();) {
        size_t end = i + 1;
        if (names[i].size() > done) {
            const char32_t code = names[i][done];
            while (end < names.size() && names[end][done] == code) end++;
            taken.push_back({code, code});
            if (done < k_longest_look)
                ways.push_back(in_order(one_char(common({{code, code}}, unescaped_chars())),
                                        rest_of_key(names.subspan(i, end - i), done + 1)));
        }
        i = end;
    }
    ways.push_back(in_order(one_char(common(complement(std::move(taken)), unescaped_chars())),
                            repeated(one_char(unescaped_chars()), 0, k_no_limit), text_of("\"")));
    return choice_of(std::move(ways));
}

}  // namespace

Expr key_other_than(const std::vector<std::string>& names) {
    std::vector<Name> sorted;
    for (const std::string& name : names) {
        Name codes;
        for (size_t at = 0; at < name.size();) {
            const Utf8Char c = utf8_at(name, at);
            codes.push_back(c.code);
            at += static_cast<size_t>(c.size);
        }
        sorted.push_back(std::move(codes));
    }
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    return in_order(text_of("\""), rest_of_key(sorted, 0));
}

}  // namespace ft::grammar
