#include "server/host_names.h"

#include <algorithm>

#include "base/ascii.h"

namespace ft {

namespace {

// In small letters, without port and without the dot that may end a name.
std::string host_without_port(std::string_view host) {
    if (host.starts_with('[')) return std::string(host.substr(0, host.find(']')));
    host = host.substr(0, host.find(':'));
    if (host.ends_with('.')) host.remove_suffix(1);
    return ascii_lower(host);
}

}  // namespace

bool may_be_called(std::string_view host, std::span<const std::string> names) {
    const std::string name = host_without_port(host);
    const bool address = name.starts_with('[') || name.find_first_not_of("0123456789.") == std::string::npos;
    if (address || name.find('.') == std::string::npos) return true;
    if (name.ends_with(".localhost") || name.ends_with(".internal")) return true;
    return std::any_of(names.begin(), names.end(), [&](const std::string& allowed) {
        return allowed == "*" || host_without_port(allowed) == name;
    });
}

}  // namespace ft
