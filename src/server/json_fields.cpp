#include "server/json_fields.h"

#include <cmath>

namespace ft {

namespace {

constexpr double k_most_shown = 2147483647;  // as an upper end this says nothing to a reader

std::string range(const char* what, double least, double most) {
    if (most >= k_most_shown) return fmt::format("{} of at least {}", what, least);
    return fmt::format("{} from {} to {}", what, least, most);
}

// Whole numbers only, 3.0 too: some clients write all numbers so.
std::optional<int64_t> whole(const JsonFields::Json& value) {
    if (value.is_number_unsigned()) {
        const uint64_t n = value.get<uint64_t>();
        return n <= static_cast<uint64_t>(INT64_MAX) ? std::optional(static_cast<int64_t>(n)) : std::nullopt;
    }
    if (value.is_number_integer()) return value.get<int64_t>();
    if (!value.is_number_float()) return std::nullopt;
    const double number = value.get<double>();
    if (std::trunc(number) != number || std::fabs(number) > 0x1p53) return std::nullopt;
    return static_cast<int64_t>(number);
}

}  // namespace

std::string shown(const nlohmann::ordered_json& value) {
    return printable(value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), 60);
}

const JsonFields::Json* JsonFields::find(const char* name) const {
    const auto at = object_.find(name);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
}

std::optional<double> JsonFields::number(const char* name, double least, double most) {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    const double number = value->is_number() ? value->get<double>() : NAN;
    if (number >= least && number <= most) return number;
    expected(name, range("a number", least, most), *value);
    return std::nullopt;
}

std::optional<int64_t> JsonFields::integer(const char* name, int64_t least, int64_t most) {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    const std::optional<int64_t> number = whole(*value);
    if (number && *number >= least && *number <= most) return number;
    expected(name, range("an integer", static_cast<double>(least), static_cast<double>(most)), *value);
    return std::nullopt;
}

std::optional<bool> JsonFields::boolean(const char* name) {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    expected(name, "true or false", *value);
    return std::nullopt;
}

std::optional<std::string> JsonFields::text(const char* name) {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    expected(name, "a text", *value);
    return std::nullopt;
}

void JsonFields::expected(const std::string& name, const std::string& what, const Json& got) {
    fail(name, fmt::format("{}{} takes {}, not {}.", path_, name, what, shown(got)));
}

void JsonFields::fail(const std::string& name, std::string message) {
    fail(ApiError{.message = std::move(message), .param = path_ + name});
}

void JsonFields::fail(ApiError error) {
    if (!error_) error_ = std::move(error);
}

}  // namespace ft
