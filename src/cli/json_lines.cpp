#include "cli/json_lines.h"

#include <iostream>
#include <string>

#include "cli/json_text.h"
#include "cli/standard_output.h"

namespace ft::cli {

namespace {

using nlohmann::ordered_json;

Expected<ordered_json> answer_line(const std::string& text, const JsonAnswer& answer) {
    try {
        const ordered_json line = ordered_json::parse(text);
        if (!line.is_object()) return Error{Code::invalid, "the line is no JSON object", ""};
        return answer(line);
    } catch (const ordered_json::exception& e) {
        return Error{Code::invalid, e.what(), ""};
    }
}

}  // namespace

Expected<int> answer_lines(const JsonAnswer& answer) {
    std::ios::sync_with_stdio(false);
    std::string text;
    for (int64_t n = 1; std::getline(std::cin, text); ++n) {
        const Expected<ordered_json> result = answer_line(text, answer);
        const ordered_json line =
            result ? *result
                   : ordered_json{{"error", fmt::format("line {}: {}", n, result.error().sentence())}};
        if (!write_out(json_text(line))) break;
    }
    Status written = finish_output();
    if (!written) return written.error();
    return 0;
}

}  // namespace ft::cli
