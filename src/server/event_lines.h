// JSON as it goes over the wire, and the events of streams.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ft {

// One line. Ill-formed UTF-8 becomes U+FFFD.
inline std::string json_line(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// An event of a text/event-stream.
inline std::string sse(const nlohmann::ordered_json& data) { return "data: " + json_line(data) + "\n\n"; }
inline std::string sse(std::string_view event, const nlohmann::ordered_json& data) {
    return "event: " + std::string(event) + "\n" + sse(data);
}
constexpr std::string_view k_sse_done = "data: [DONE]\n\n";

constexpr const char* k_json_type = "application/json";
constexpr const char* k_sse_type = "text/event-stream";
constexpr const char* k_ndjson_type = "application/x-ndjson";

}  // namespace ft
