#include "text/jinja/code_points.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace ft::jinja {

int64_t code_point_count(std::string_view text) {
    int64_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
}

size_t byte_offset(std::string_view text, int64_t index) {
    size_t at = 0;
    for (; index > 0; index--) at += static_cast<size_t>(utf8_size(text[at]));
    return at;
}

void for_code_points(std::string_view text, const std::function<bool(char32_t, std::string_view)>& visit) {
    for (size_t at = 0; at < text.size();) {
        const Utf8Char c = utf8_at(text, at);
        const auto size = static_cast<size_t>(c.size);
        if (!visit(c.code, text.substr(at, size))) return;
        at += size;
    }
}

bool is_space(char32_t c) {
    if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

namespace {

utf8proc_category_t category_of(char32_t c) {
    return static_cast<utf8proc_category_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
}

bool letter(char32_t c) {
    const auto kind = category_of(c);
    return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}
bool numeral(char32_t c) {
    const auto kind = category_of(c);
    return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}
bool decimal(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_ND; }
// Superscripts, circled numbers and the like are digits without being decimal.
bool digit(char32_t c) {
    constexpr char32_t k_ranges[][2] = {
        {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
        {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
        {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
        {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
    };
    if (decimal(c)) return true;
    for (const auto& [first, last] : k_ranges)
        if (c >= first && c <= last) return true;
    return false;
}

bool upper_case(char32_t c) { return utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0; }
bool lower_case(char32_t c) { return utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0; }
bool title_case(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_LT; }
bool cased(char32_t c) { return upper_case(c) || lower_case(c) || title_case(c); }

// The full case folding of the few characters that have no single capital (ß, ligatures, Greek with iota
// below): several small letters. Empty for all others.
std::vector<char32_t> folded_to_several(char32_t c) {
    const auto kind = category_of(c);
    if (c < 0x80 || kind == UTF8PROC_CATEGORY_LU) return {};
    utf8proc_int32_t folded[8];
    int boundary = 0;
    const auto n =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 8, UTF8PROC_CASEFOLD, &boundary);
    return n >= 2 && n <= 8 ? std::vector<char32_t>(folded, folded + n) : std::vector<char32_t>();
}

char32_t simple_upper(char32_t c) {
    return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

void append_upper(std::string& out, char32_t c) {
    const std::vector<char32_t> several = folded_to_several(c);
    for (const char32_t each : several) append_utf8(out, simple_upper(each));
    if (several.empty()) append_utf8(out, simple_upper(c));
}

bool ignorable_in_case(char32_t c) {
    const auto kind = category_of(c);
    return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2019 || kind == UTF8PROC_CATEGORY_MN ||
           kind == UTF8PROC_CATEGORY_ME || kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_LM ||
           kind == UTF8PROC_CATEGORY_SK;
}

// A capital sigma becomes the final form where a letter stands before it and none follows.
bool final_sigma(std::string_view before, std::string_view after) {
    bool letter_before = false;
    for_code_points(before, [&](char32_t c, std::string_view) {
        if (!ignorable_in_case(c)) letter_before = cased(c);
        return true;
    });
    bool letter_after = false;
    for_code_points(after, [&](char32_t c, std::string_view) {
        if (ignorable_in_case(c)) return true;
        letter_after = cased(c);
        return false;
    });
    return letter_before && !letter_after;
}

void append_lower(std::string& out, char32_t c, std::string_view text, std::string_view at) {
    if (c == 0x130) {  // the dotted capital I is the only one whose small form is two characters
        out += "i\xCC\x87";
        return;
    }
    if (c == 0x3A3) {
        const auto from = static_cast<size_t>(at.data() - text.data());
        constexpr size_t k_reach = 64;  // bytes looked at before the sigma: a word, not the whole text
        size_t begin = from > k_reach ? from - k_reach : 0;
        while (begin < from && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) begin++;
        append_utf8(out, final_sigma(text.substr(begin, from - begin), text.substr(from + at.size(), k_reach))
                             ? char32_t{0x3C2}
                             : char32_t{0x3C3});
        return;
    }
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

void append_title(std::string& out, char32_t c) {
    constexpr char32_t k_sharp_s = 0xDF;  // it has a capital, which is not used here
    const auto capital = static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)));
    const bool single = title_case(c) || (capital != c && c != k_sharp_s);
    const std::vector<char32_t> several = single ? std::vector<char32_t>() : folded_to_several(c);
    bool first = true;
    for (const char32_t each : several) {
        append_utf8(out, first ? simple_upper(each) : each);
        first = first && !cased(each);
    }
    if (several.empty()) append_utf8(out, title_case(c) ? c : capital);
}

template <class Property>
bool every(std::string_view text, Property property) {
    bool all = !text.empty();
    for_code_points(text, [&](char32_t c, std::string_view) { return all = property(c); });
    return all;
}

}  // namespace

bool is_word(char32_t c) { return c == '_' || letter(c) || numeral(c); }

bool is_printable(char32_t c) {
    if (c < 0x7F) return c >= 0x20;
    switch (category_of(c)) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
        case UTF8PROC_CATEGORY_ZS:
            return false;
        default:
            return true;
    }
}

std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> chars) {
    const auto removed = [&](char32_t c, std::string_view bytes) {
        return chars ? chars->find(bytes) != std::string_view::npos : is_space(c);
    };
    while (side != Side::right && !text.empty()) {
        const Utf8Char first = utf8_at(text, 0);
        if (!removed(first.code, text.substr(0, static_cast<size_t>(first.size)))) break;
        text.remove_prefix(static_cast<size_t>(first.size));
    }
    while (side != Side::left && !text.empty()) {
        size_t last = text.size() - 1;
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) last--;
        if (!removed(utf8_at(text, last).code, text.substr(last))) break;
        text.remove_suffix(text.size() - last);
    }
    return text;
}

bool all_space(std::string_view text) { return strip(text, Side::left).empty(); }

std::vector<std::string_view> split_space(std::string_view text, int64_t most) {
    std::vector<std::string_view> parts;
    text = strip(text, Side::left);
    while (!text.empty()) {
        if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
            parts.push_back(text);
            break;
        }
        size_t length = 0;
        for_code_points(text, [&](char32_t c, std::string_view bytes) {
            if (is_space(c)) return false;
            length += bytes.size();
            return true;
        });
        parts.push_back(text.substr(0, length));
        text = strip(text.substr(length), Side::left);
    }
    return parts;
}

std::vector<std::string_view> split_space_right(std::string_view text, int64_t most) {
    std::vector<std::string_view> all = split_space(text);
    if (most < 0 || static_cast<int64_t>(all.size()) <= most) return all;
    const size_t left =
        all.size() - static_cast<size_t>(most);  // parts that stay together, blanks before them too
    const auto end = static_cast<size_t>(all[left - 1].data() - text.data()) + all[left - 1].size();
    std::vector<std::string_view> parts{text.substr(0, end)};
    parts.insert(parts.end(), all.begin() + static_cast<std::ptrdiff_t>(left), all.end());
    return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
    std::vector<std::string_view> lines;
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
        const Utf8Char c = utf8_at(text, at);
        const auto size = static_cast<size_t>(c.size);
        const bool ends = (c.code >= 10 && c.code <= 13) || (c.code >= 0x1C && c.code <= 0x1E) ||
                          c.code == 0x85 || c.code == 0x2028 || c.code == 0x2029;
        size_t next = at + size;
        if (ends) {
            if (c.code == '\r' && next < text.size() && text[next] == '\n') next++;
            lines.push_back(text.substr(begin, (keep_ends ? next : at) - begin));
            begin = next;
        }
        at = next;
    }
    if (begin < text.size()) lines.push_back(text.substr(begin));
    return lines;
}

std::string upper(std::string_view text) {
    std::string out;
    for_code_points(text, [&](char32_t c, std::string_view) { return append_upper(out, c), true; });
    return out;
}

std::string lower(std::string_view text) {
    std::string out;
    for_code_points(text,
                    [&](char32_t c, std::string_view at) { return append_lower(out, c, text, at), true; });
    return out;
}

std::string title(std::string_view text) {
    std::string out;
    bool inside = false;
    for_code_points(text, [&](char32_t c, std::string_view at) {
        if (inside) append_lower(out, c, text, at);
        else append_title(out, c);
        inside = cased(c);
        return true;
    });
    return out;
}

std::string capitalize(std::string_view text) {
    std::string out;
    for_code_points(text, [&](char32_t c, std::string_view at) {
        if (at.data() == text.data()) append_title(out, c);
        else append_lower(out, c, text, at);
        return true;
    });
    return out;
}

std::string swap_case(std::string_view text) {
    std::string out;
    for_code_points(text, [&](char32_t c, std::string_view at) {
        if (upper_case(c)) append_lower(out, c, text, at);
        else if (lower_case(c)) append_upper(out, c);
        else out += at;
        return true;
    });
    return out;
}

bool is_alpha(std::string_view text) { return every(text, letter); }
bool is_alnum(std::string_view text) {
    return every(text, [](char32_t c) { return letter(c) || numeral(c); });
}
bool is_digit(std::string_view text) { return every(text, digit); }
bool is_decimal(std::string_view text) { return every(text, decimal); }

bool is_lower(std::string_view text) {
    bool found = false;
    bool other = false;
    for_code_points(text, [&](char32_t c, std::string_view) {
        found = found || lower_case(c);
        other = upper_case(c) || title_case(c);
        return !other;
    });
    return found && !other;
}

bool is_upper(std::string_view text) {
    bool found = false;
    bool other = false;
    for_code_points(text, [&](char32_t c, std::string_view) {
        found = found || upper_case(c);
        other = lower_case(c) || title_case(c);
        return !other;
    });
    return found && !other;
}

bool is_title(std::string_view text) {
    bool found = false;
    bool inside = false;
    bool good = true;
    for_code_points(text, [&](char32_t c, std::string_view) {
        const bool capital = upper_case(c) || title_case(c);
        if (capital) good = !inside;
        else if (lower_case(c)) good = inside;
        inside = capital || lower_case(c);
        found = found || inside;
        return good;
    });
    return good && found;
}

bool is_identifier(std::string_view text) {
    bool first = true;
    return every(text, [&](char32_t c) {
        const auto kind = category_of(c);
        const bool starts = c == '_' || letter(c) || kind == UTF8PROC_CATEGORY_NL;
        const bool continues = kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC || decimal(c) ||
                               kind == UTF8PROC_CATEGORY_PC;
        const bool good = starts || (!first && continues);
        first = false;
        return good;
    });
}

}  // namespace ft::jinja
