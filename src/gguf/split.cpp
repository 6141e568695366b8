#include "gguf/split.h"

#include <fmt/format.h>

#include <string_view>

namespace ft {

namespace {

constexpr std::string_view k_form = "-00000-of-00000.gguf";

std::optional<uint32_t> five_digits(std::string_view text) {
    uint32_t number = 0;
    for (const char c : text.substr(0, 5)) {
        if (c < '0' || c > '9') return std::nullopt;
        number = number * 10 + static_cast<uint32_t>(c - '0');
    }
    return number;
}

}  // namespace

std::string SplitName::of(uint32_t part_number) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, part_number, count);
}

std::optional<SplitName> parse_split_name(const std::string& path) {
    if (path.size() < k_form.size()) return std::nullopt;
    const size_t start = path.size() - k_form.size();
    const std::string_view end = std::string_view(path).substr(start);
    const std::optional<uint32_t> part = five_digits(end.substr(1));
    const std::optional<uint32_t> count = five_digits(end.substr(10));
    if (!part || !count || *part == 0 || *part > *count) return std::nullopt;
    SplitName name{path.substr(0, start), *part, *count};
    if (name.of(*part) != path) return std::nullopt;
    return name;
}

}  // namespace ft
