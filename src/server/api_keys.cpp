#include "server/api_keys.h"

#include "base/ascii.h"
#include "base/read_text.h"

namespace ft {

namespace {

constexpr uint64_t k_largest_key_file = uint64_t{1} << 20;

std::string_view trimmed(std::string_view line) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
}

Expected<std::vector<std::string>> read_keys(const std::string& path) {
    const Expected<std::string> text = read_text(path, k_largest_key_file);
    if (!text) return text.error().within("server.api_keys_file");
    std::vector<std::string> keys;
    for (size_t at = 0; at < text->size();) {
        const size_t end = std::min(text->find('\n', at), text->size());
        const std::string_view line = trimmed(std::string_view(*text).substr(at, end - at));
        if (!line.empty() && line.front() != '#') keys.emplace_back(line);
        at = end + 1;
    }
    if (keys.empty())
        return Error{Code::invalid, fmt::format("server.api_keys_file: {} holds no key", printable(path)),
                     "Write one key a line, for example from `openssl rand -hex 24`."};
    return keys;
}

// Looks at every byte of `shown`, whether earlier ones differ or not.
bool same_text(std::string_view shown, std::string_view right) {
    unsigned differs = shown.size() == right.size() ? 0 : 1;
    for (size_t i = 0; i < shown.size(); i++) {
        const char other = i < right.size() ? right[i] : '\0';
        differs |= static_cast<unsigned char>(shown[i] ^ other);
    }
    return differs == 0;
}

}  // namespace

Expected<std::unique_ptr<ApiKeys>> ApiKeys::load(std::string path) {
    std::unique_ptr<ApiKeys> keys(new ApiKeys(std::move(path)));
    if (keys->needed())
        if (Status read = keys->reload(); !read) return read.error();
    return keys;
}

Status ApiKeys::reload() {
    if (!needed()) return {};
    Expected<std::vector<std::string>> keys = read_keys(path_);
    if (!keys) return keys.error();
    const std::lock_guard lock(mutex_);
    keys_ = std::move(*keys);
    return {};
}

bool ApiKeys::accepts(std::string_view key) const {
    if (!needed()) return true;
    const std::lock_guard lock(mutex_);
    bool accepted = false;
    for (const std::string& right : keys_) accepted |= same_text(key, right);
    return accepted && !key.empty();
}

size_t ApiKeys::size() const {
    const std::lock_guard lock(mutex_);
    return keys_.size();
}

std::string_view bearer_key(std::string_view authorization) {
    constexpr std::string_view k_scheme = "bearer ";
    if (!begins_in_any_case(authorization, k_scheme)) return {};
    return trimmed(authorization.substr(k_scheme.size()));
}

}  // namespace ft
