#include "server/json_body.h"

#include <algorithm>

namespace ft {

namespace {

// How deep lists and objects are nested in a text that may be JSON.
int depth_of(std::string_view text) {
    int depth = 0, deepest = 0;
    bool in_text = false;
    for (size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        if (in_text) {
            if (c == '\\') i++;
            else if (c == '"') in_text = false;
        } else if (c == '"') in_text = true;
        else if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
        else if (c == ']' || c == '}') depth--;
    }
    return deepest;
}

}  // namespace

Expected<nlohmann::ordered_json> parse_json(std::string_view text) {
    if (depth_of(text) > k_deepest_json)
        return Error{Code::invalid, fmt::format("JSON nested deeper than {} levels", k_deepest_json), ""};
    try {
        return nlohmann::ordered_json::parse(text);
    } catch (const nlohmann::ordered_json::exception& e) {
        std::string_view what = e.what();  // "[json.exception.parse_error.101] parse error at line 1, …"
        const size_t end = what.find("] ");
        if (end != std::string_view::npos) what.remove_prefix(end + 2);
        return Error{Code::invalid, fmt::format("no JSON: {}", printable(what)), ""};
    }
}

}  // namespace ft
