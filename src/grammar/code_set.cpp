#include "grammar/code_set.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace ft::grammar {

namespace {

constexpr char32_t k_last_code = 0x10FFFF;
constexpr CodeRange k_characters[] = {{0, 0xD7FF}, {0xE000, k_last_code}};

CodeSet merged_ranges(CodeSet set) {
    std::sort(set.begin(), set.end(),
              [](const CodeRange& a, const CodeRange& b) { return a.first < b.first; });
    CodeSet out;
    for (const CodeRange& range : set) {
        if (range.first > range.last) continue;
        if (!out.empty() && range.first <= out.back().last + 1)
            out.back().last = std::max(out.back().last, range.last);
        else out.push_back(range);
    }
    return out;
}

// Of rising ranges.
CodeSet common_ranges(const CodeSet& a, const CodeSet& b) {
    CodeSet out;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const char32_t first = std::max(a[i].first, b[j].first), last = std::min(a[i].last, b[j].last);
        if (first <= last) out.push_back({first, last});
        if (a[i].last < b[j].last) i++;
        else j++;
    }
    return out;
}

// Cuts a range until all its characters have the same length, and each byte but the last differing one may be
// followed by any: then the bytes of its ends are the ranges.
void add_utf8_ranges(char32_t first, char32_t last, std::vector<ByteRanges>& out) {
    const auto cut_after = [&](char32_t code) {
        add_utf8_ranges(first, code, out);
        add_utf8_ranges(code + 1, last, out);
    };
    for (const char32_t longest : {char32_t{0x7F}, char32_t{0x7FF}, char32_t{0xFFFF}})
        if (first <= longest && longest < last) return cut_after(longest);
    for (int n = 1; n <= 3 && first > 0x7F; n++) {
        const char32_t low = (char32_t{1} << (6 * n)) - 1;  // the bits of the last n bytes
        if ((first & ~low) == (last & ~low)) continue;
        if ((first & low) != 0) return cut_after(first | low);
        if ((last & low) != low) return cut_after((last & ~low) - 1);
    }
    std::string from, to;
    append_utf8(from, first);
    append_utf8(to, last);
    ByteRanges ranges;
    for (size_t i = 0; i < from.size(); i++)
        ranges.push_back({static_cast<uint8_t>(from[i]), static_cast<uint8_t>(to[i])});
    out.push_back(std::move(ranges));
}

}  // namespace

CodeSet normal(CodeSet set) {
    return common_ranges(merged_ranges(std::move(set)), {std::begin(k_characters), std::end(k_characters)});
}

CodeSet complement(CodeSet set) {
    CodeSet out;
    char32_t next = 0;
    for (const CodeRange& range : normal(std::move(set))) {
        if (range.first > next) out.push_back({next, range.first - 1});
        next = range.last + 1;
    }
    if (next <= k_last_code) out.push_back({next, k_last_code});
    return normal(std::move(out));
}

CodeSet common(CodeSet a, CodeSet b) { return common_ranges(normal(std::move(a)), normal(std::move(b))); }

std::vector<ByteRanges> utf8_ranges(const CodeSet& set) {
    std::vector<ByteRanges> out;
    for (const CodeRange& range : normal(set)) add_utf8_ranges(range.first, range.last, out);
    return out;
}

}  // namespace ft::grammar
