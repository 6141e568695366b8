#include "server/json_body.h"

#include <algorithm>
#include <vector>

namespace ft {

namespace {

// What bounds the work on a text that may be JSON: how deep lists and objects are nested, and the members of
// the largest object. Members are looked up one after the other, so that many cost the square of their
// number.
struct Extent {
    int depth = 0;
    size_t members = 0;
};

Extent extent_of(std::string_view text, int deepest) {
    std::vector<size_t> members(static_cast<size_t>(deepest) +
                                1);  // of the object at each depth; 0 for a list
    Extent extent;
    int depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < text.size() && extent.depth <= deepest; i++) {
        const char c = text[i];
        if (in_text) {
            if (c == '\\') i++;
            else if (c == '"') in_text = false;
        } else if (c == '"') in_text = true;
        else if (c == '[' || c == '{') {
            extent.depth = std::max(extent.depth, ++depth);
            if (depth <= deepest) members[static_cast<size_t>(depth)] = 0;
        } else if (c == ']' || c == '}') depth = std::max(0, depth - 1);
        else if (c == ':') extent.members = std::max(extent.members, ++members[static_cast<size_t>(depth)]);
    }
    return extent;
}

// "whose logit_bias has": where the large object stands, as far as it is a field of the body.
std::string large_field(std::string_view text) {
    const auto body = nlohmann::json::parse(text, nullptr, false);  // looks members up in a tree
    if (body.is_object() && body.size() <= k_most_members)
        for (const auto& [name, value] : body.items())
            if (value.is_object() && value.size() > k_most_members)
                return fmt::format("whose {} has", printable(name));
    return "with an object of";
}

}  // namespace

std::string json_reason(const nlohmann::json::exception& failure, std::string_view text) {
    std::string_view what =
        failure.what();  // "[json.exception.parse_error.101] parse error at line 1, column 7: …"
    if (const size_t end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
    // Whoever gives lines counts them: a text of one line has no other number.
    const std::string_view only_line =
        text.find('\n') == std::string_view::npos ? "parse error at line 1, " : "parse error at ";
    if (!what.starts_with(only_line)) return std::string(what);
    what.remove_prefix(only_line.size());
    return (what.starts_with("column") ? "at " : "in ") + std::string(what);
}

Expected<nlohmann::ordered_json> parse_json(std::string_view text, int deepest) {
    // the library takes it for the end of the text, whatever comes behind
    if (const size_t at = text.find('\0'); at != std::string_view::npos)
        return Error{Code::invalid, fmt::format("no JSON: byte {} is zero", at + 1), ""};
    const Extent extent = extent_of(text, deepest);
    if (extent.depth > deepest)
        return Error{Code::invalid, fmt::format("JSON nested deeper than {} levels", deepest), ""};
    if (extent.members > k_most_members)
        return Error{Code::invalid,
                     fmt::format("JSON {} more than {} members", large_field(text), k_most_members), ""};
    try {
        return nlohmann::ordered_json::parse(text);
    } catch (const nlohmann::ordered_json::exception& e) {
        return Error{Code::invalid, fmt::format("no JSON: {}", printable(json_reason(e, text))), ""};
    }
}

}  // namespace ft
