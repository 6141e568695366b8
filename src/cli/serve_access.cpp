#include "cli/serve_access.h"

#include <algorithm>
#include <string_view>

#include "base/bytes.h"
#include "http/http_server.h"

namespace ft::cli {

namespace {

constexpr uint64_t k_part_for_requests = 32;
constexpr uint64_t k_least_for_requests = 16 * k_mib, k_most_for_requests = 256 * k_mib;

// "http://localhost:3000", "app://page", and the two words for any page and for one from a file.
bool is_origin(std::string_view text) {
    if (text == "*" || text == "null") return true;
    constexpr std::string_view k_scheme = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    constexpr std::string_view k_never = " \t/\\{}\"',";
    const size_t end = text.find("://");
    if (end == 0 || end == std::string_view::npos) return false;
    const std::string_view host = text.substr(end + 3);
    return text.substr(0, end).find_first_not_of(k_scheme) == std::string_view::npos && !host.empty() &&
           host.find_first_of(k_never) == std::string_view::npos;
}

Status check_origins(const Settings& settings) {
    for (const std::string& origin : settings.list("server.cors_origins"))
        if (!is_origin(origin))
            return Error{Code::invalid,
                         fmt::format("server.cors_origins ({}): \"{}\" is no origin of a page",
                                     settings.origin("server.cors_origins"), printable(origin)),
                         "One is scheme://host or scheme://host:port, without a path: http://localhost:3000. "
                         "\"*\" is any."};
    return {};
}

}  // namespace

Expected<bool> serves_this_machine_alone(const Settings& settings) {
    if (Status origins = check_origins(settings); !origins) return origins.error();
    const std::string& host = settings.text("server.host");
    const Expected<bool> loopback = is_loopback(host);
    if (!loopback) return loopback.error();
    const bool keys = settings.has("server.api_keys_file");
    if (*loopback || keys || settings.boolean("server.allow_without_keys")) return *loopback && !keys;
    return Error{
        Code::invalid,
        fmt::format("server.host: {} is open to other machines, and no key is needed", printable(host)),
        "Name a file of keys by server.api_keys_file, or set server.allow_without_keys: true where "
        "everybody who reaches the port may use the model."};
}

RequestRoom request_room(const Settings& settings) {
    if (!settings.has("server.requests_mib"))
        return {.part = k_part_for_requests, .least = k_least_for_requests, .most = k_most_for_requests};
    const auto bytes = static_cast<uint64_t>(settings.integer("server.requests_mib")) * k_mib;
    return {.least = bytes, .most = bytes};
}

}  // namespace ft::cli
