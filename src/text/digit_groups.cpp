#include "text/digit_groups.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace ft {

namespace {

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

bool is_decimal(char32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }

bool is_number(char32_t code) {
    const auto c = category(code);
    return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

// What \w takes in publishers' expressions, digits aside.
bool joins_a_word(char32_t code) {
    switch (category(code)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_PC:
            return true;
        default:
            return false;
    }
}

bool is_word_end(std::string_view text, size_t at) {
    return at == text.size() || !joins_a_word(utf8_at(text, at).code);
}

// run: n characters.
void cut_digits(std::string_view run, size_t n, FunctionRef<void(std::string_view)> found) {
    size_t size = 0;  // bytes of the group so far
    while (size < run.size()) {
        size += static_cast<size_t>(utf8_size(run[size]));
        if (--n % 3 != 0) continue;
        found(run.substr(0, size));
        run.remove_prefix(size);
        size = 0;
    }
}

template <class Wanted, class Ends>
void cut_runs(std::string_view text, Wanted wanted, Ends ends, FunctionRef<void(std::string_view)> found) {
    size_t begin = 0, n = 0;
    for (size_t at = 0; at <= text.size();) {
        const bool in = at < text.size() && wanted(utf8_at(text, at).code);
        if (in) {
            if (n++ == 0) begin = at;
        } else if (n > 0) {
            if (ends(text, at)) cut_digits(text.substr(begin, at - begin), n, found);
            n = 0;
        }
        at += at < text.size() ? static_cast<size_t>(utf8_size(text[at])) : 1;
    }
}

}  // namespace

void digit_groups(std::string_view text, FunctionRef<void(std::string_view)> found) {
    cut_runs(text, is_number, [](std::string_view, size_t) { return true; }, found);
}

void digit_groups_before_a_word_end(std::string_view text, FunctionRef<void(std::string_view)> found) {
    cut_runs(text, is_decimal, is_word_end, found);
}

}  // namespace ft
