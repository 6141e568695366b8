#include "server/api_error.h"

#include <nlohmann/json.hpp>

namespace ft {

nlohmann::ordered_json to_json(const ApiError& error) {
    const auto text_or_null = [](const std::string& text) {
        return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
    };
    nlohmann::ordered_json body = {{"message", error.message},
                                   {"type", error.type},
                                   {"param", text_or_null(error.param)},
                                   {"code", text_or_null(error.code)}};
    for (const auto& [name, value] : error.extra) body[name] = value;
    return {{"error", std::move(body)}};
}

ApiError api_error(const Error& error) {
    switch (error.code) {
        case Code::invalid:
        case Code::unsupported:
        case Code::too_large:
            return {.message = error.sentence()};
        case Code::not_found:
        case Code::truncated:
        case Code::damaged:
        case Code::io:
        case Code::negative:
        case Code::internal:
            break;
    }
    return {.status = 500, .message = error.sentence(), .type = "server_error"};
}

ApiError no_json_body(const Error& error) {
    return {.message = fmt::format("the body is {}", error.sentence())};
}

}  // namespace ft
