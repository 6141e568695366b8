#include "hub/quant_label.h"

#include <algorithm>
#include <array>

namespace ft {

namespace {

// Longer ones before their beginnings.
constexpr std::string_view k_plain[] = {"MXFP4_MOE", "MXFP4", "NVFP4", "BF16",  "FP16",
                                        "FP32",      "F16",   "F32",   "TQ1_0", "TQ2_0"};
constexpr std::string_view k_parts[] = {"K", "0", "1", "NL", "XXS", "XS", "S", "M", "L", "XL", "XXL"};

std::string capitals(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return out;
}

bool ends_word(std::string_view text, size_t at) {
    return at >= text.size() || std::string_view("-._/ ").find(text[at]) != std::string_view::npos;
}

// The end of "_PART" at `at`, or `at` where none stands there.
size_t after_part(std::string_view text, size_t at) {
    if (at >= text.size() || text[at] != '_') return at;
    for (const std::string_view part : k_parts)
        if (text.substr(at + 1).starts_with(part) && ends_word(text, at + 1 + part.size()))
            return at + 1 + part.size();
    return at;
}

// The length of the label that begins at `at`; 0: none does.
size_t label_length(std::string_view text, size_t at) {
    for (const std::string_view plain : k_plain)
        if (text.substr(at).starts_with(plain) && ends_word(text, at + plain.size())) return plain.size();
    size_t end = at;
    if (end < text.size() && text[end] == 'I') end++;
    if (end + 1 >= text.size() || text[end] != 'Q' || text[end + 1] < '1' || text[end + 1] > '8') return 0;
    end += 2;
    const size_t first = after_part(text, end);
    if (first == end) return 0;
    end = first;
    for (size_t next = after_part(text, end); next != end; next = after_part(text, end)) end = next;
    return end - at;
}

}  // namespace

std::string quant_label(std::string_view name) {
    const std::string text = capitals(name);
    std::string label;
    for (size_t at = 0; at < text.size(); at++) {
        if (at > 0 && !ends_word(text, at - 1)) continue;
        const size_t length = label_length(text, at);
        if (length == 0) continue;
        const bool dynamic = at >= 3 && std::string_view(text).substr(at - 3, 3) == "UD-" &&
                             (at == 3 || ends_word(text, at - 4));
        label = (dynamic ? "UD-" : "") + text.substr(at, length);
        at += length - 1;
    }
    return label;
}

std::string normal_label(std::string_view word) {
    std::string text = capitals(word);
    const size_t begin = text.starts_with("UD-") ? 3 : 0;
    std::replace(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), '-', '_');
    return text;
}

int label_bits(std::string_view label) {
    if (label.starts_with("UD-")) label.remove_prefix(3);
    if (label.ends_with("F16") || label.ends_with("FP16")) return 16;
    if (label.ends_with("F32") || label.ends_with("FP32")) return 32;
    const size_t digit = label.find_first_of("12345678");
    return digit == std::string_view::npos ? 0 : label[digit] - '0';
}

}  // namespace ft
