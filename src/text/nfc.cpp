#include "text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"

namespace ft {

namespace {

utf8proc_propval_t combining_class(utf8proc_int32_t code) {
    return utf8proc_get_property(code)->combining_class;
}

// Canonical decomposition, marks not yet in order.
std::vector<utf8proc_int32_t> decomposed(std::string_view text) {
    std::vector<utf8proc_int32_t> codes;
    codes.reserve(text.size());
    utf8proc_int32_t parts[32];
    for (size_t at = 0; at < text.size();) {
        const Utf8Char c = utf8_at(text, at);
        at += static_cast<size_t>(c.size);
        const auto code = static_cast<utf8proc_int32_t>(c.code);
        if (code < 0xC0) {
            codes.push_back(code);
            continue;
        }
        int bound_class = 0;
        const auto n =
            utf8proc_decompose_char(code, parts, std::size(parts), UTF8PROC_DECOMPOSE, &bound_class);
        check(n >= 1 && n <= static_cast<utf8proc_ssize_t>(std::size(parts)),
              "a decomposition of over 32 characters");
        codes.insert(codes.end(), parts, parts + n);
    }
    return codes;
}

// By rising class, marks of equal class as they stand. utf8proc does it by exchanging neighbours, which long
// runs make quadratic.
void order_run(std::span<utf8proc_int32_t> run) {
    std::vector<std::pair<size_t, utf8proc_int32_t>> keyed(run.size());
    for (size_t i = 0; i < run.size(); ++i)
        keyed[i] = {static_cast<size_t>(combining_class(run[i])) * run.size() + i, run[i]};
    std::sort(keyed.begin(), keyed.end());
    for (size_t i = 0; i < run.size(); ++i) run[i] = keyed[i].second;
}

void order_marks(std::vector<utf8proc_int32_t>& codes) {
    const auto is_mark = [](utf8proc_int32_t code) { return code >= 0x300 && combining_class(code) != 0; };
    for (auto begin = codes.begin();;) {
        begin = std::find_if(begin, codes.end(), is_mark);
        if (begin == codes.end()) return;
        const auto end = std::find_if_not(begin, codes.end(), is_mark);
        if (end - begin > 1) order_run({begin, end});
        begin = end;
    }
}

}  // namespace

bool surely_nfc(std::string_view text) {
    // U+0300, the first character that composing concerns, is CC 80: no lead byte below CC is concerned.
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
}

std::string to_nfc(std::string_view text) {
    std::vector<utf8proc_int32_t> codes = decomposed(text);
    order_marks(codes);
    const auto n =
        utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()),
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    check(n >= 0, "composing failed");
    std::string out;
    out.reserve(text.size());
    for (utf8proc_ssize_t i = 0; i < n; ++i)
        append_utf8(out, static_cast<char32_t>(codes[static_cast<size_t>(i)]));
    return out;
}

}  // namespace ft
