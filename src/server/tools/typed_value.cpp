#include "server/tools/typed_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "server/tools/json_mender.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

void add_type(std::vector<std::string>& types, const std::string& type) {
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
}

std::string type_of_constant(const Json& value) {
    if (value.is_number_integer()) return "integer";
    return value.type_name();  // string, number, boolean, null, object, array
}

// The types that a schema names itself, or by its alternatives, one level deep.
void collect_types(const Json& schema, bool deeper, std::vector<std::string>& types) {
    if (!schema.is_object()) return;
    if (const auto type = schema.find("type"); type != schema.end()) {
        if (type->is_string()) add_type(types, type->get<std::string>());
        if (type->is_array())
            for (const Json& one : *type)
                if (one.is_string()) add_type(types, one.get<std::string>());
    } else if (const auto values = schema.find("enum"); values != schema.end() && values->is_array()) {
        for (const Json& value : *values) add_type(types, type_of_constant(value));
    } else if (const auto value = schema.find("const"); value != schema.end()) {
        add_type(types, type_of_constant(*value));
    }
    for (const char* name : {"anyOf", "oneOf"})
        if (const auto list = schema.find(name); deeper && list != schema.end() && list->is_array())
            for (const Json& one : *list) collect_types(one, false, types);
}

std::string_view trimmed_value(std::string_view text) {
    constexpr std::string_view k_value_blanks = " \t\r\n";
    const size_t start = text.find_first_not_of(k_value_blanks);
    if (start == std::string_view::npos) return {};
    return text.substr(start, text.find_last_not_of(k_value_blanks) - start + 1);
}

std::string mended(std::string_view text, char bracket) {
    if (!text.starts_with(bracket)) return "";
    std::string out;
    JsonMender mender;
    mender.push(text, out);
    mender.finish(out);
    return out;
}

std::string as_number(std::string_view text, bool whole) {
    if (!is_json_number(text)) return "";
    const Json value = Json::parse(text, nullptr, false);
    if (!whole || value.is_number_integer()) return std::string(text);
    const double number = value.get<double>();
    if (std::trunc(number) != number || std::fabs(number) > 0x1p53) return "";
    return std::to_string(static_cast<int64_t>(number));
}

// "" where the text is no value of this type.
std::string as_type(const std::string& type, std::string_view text) {
    const std::string_view bare = trimmed_value(text);
    if (type == "string") return '"' + json_escaped(text) + '"';
    if (type == "integer" || type == "number") return as_number(bare, type == "integer");
    if (type == "object") return mended(bare, '{');
    if (type == "array") return mended(bare, '[');
    const std::string word = ascii_lower(bare);
    if (type == "boolean" && (word == "true" || word == "false")) return word;
    if (type == "null" && (word == "null" || word == "none")) return "null";
    return "";
}

}  // namespace

std::vector<std::string> types_of(const Json& schema, const std::string& member) {
    std::vector<std::string> types;
    if (!schema.is_object()) return types;
    const auto properties = schema.find("properties");
    if (properties == schema.end() || !properties->is_object()) return types;
    if (const auto at = properties->find(member); at != properties->end()) collect_types(*at, true, types);
    return types;
}

std::string typed_value(const std::vector<std::string>& types, std::string_view text) {
    const bool may_be_null = std::find(types.begin(), types.end(), "null") != types.end();
    if (may_be_null && !as_type("null", text).empty()) return "null";
    for (const std::string& type : types)
        if (std::string value = as_type(type, text); !value.empty()) return value;
    return as_type("string", text);
}

bool is_json_number(std::string_view word) {
    size_t at = word.starts_with('-') ? 1 : 0;
    const auto digits = [&] {
        const size_t start = at;
        while (at < word.size() && word[at] >= '0' && word[at] <= '9') at++;
        return at - start;
    };
    const bool zero = at < word.size() && word[at] == '0';
    const size_t n = digits();
    if (n == 0 || (zero && n > 1)) return false;
    if (at < word.size() && word[at] == '.') {
        at++;
        if (digits() == 0) return false;
    }
    if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
        at++;
        if (at < word.size() && (word[at] == '+' || word[at] == '-')) at++;
        if (digits() == 0) return false;
    }
    return at == word.size() && nlohmann::ordered_json::accept(word);
}

std::string json_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\', out += c;
        else if (c == '\n') out += "\\n";
        else if (c == '\r') out += "\\r";
        else if (c == '\t') out += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<int>(c));
        else out += c;
    }
    return out;
}

}  // namespace ft
