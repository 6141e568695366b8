// Values of settings: from the words of a user, and back as YAML.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/parse_number.h"
#include "base/utf8.h"
#include "config/keys.h"

namespace ft {

namespace {

std::string number_text(double value) { return fmt::format("{}", value); }

// Documents leave out an upper end that nobody comes near; whoever went beyond it is told.
std::string upper_end(const Key& key, std::string_view text) {
    if (key.kind != Kind::integer && key.kind != Kind::number) return "";
    const auto value = parse_number<double>(text);
    if (!value || !std::isfinite(*value) || *value <= key.most) return "";
    return fmt::format(", and at most {}", number_text(key.most));
}

// Who writes a unit, or a number that is none, may not know ours; one out of range is told the range.
std::string unit_hint(const Key& key, std::string_view text) {
    if (*key.unit == '\0' || parse_number<double>(text)) return "";
    return fmt::format("Give a bare number in {}, such as {}.", key.unit, key.example);
}

Error not_allowed(const Key& key, std::string_view name, std::string_view text) {
    const std::string allowed = allowed_values(key);
    const std::string most = allowed.find(" to ") == std::string::npos ? upper_end(key, text) : "";
    return Error{Code::invalid,
                 fmt::format("{} takes {}{}, not \"{}\"", name, allowed, most, printable(text)),
                 unit_hint(key, text)};
}

bool in_range(const Key& key, double value) { return value >= key.least && value <= key.most; }

std::optional<bool> parse_boolean(std::string_view text) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
}

// One text, or a JSON list of texts.
std::optional<std::vector<std::string>> parse_list(std::string_view text) {
    if (text.empty()) return std::nullopt;
    if (text.front() != '[') return std::vector<std::string>{std::string(text)};
    const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
    if (!list.is_array()) return std::nullopt;
    std::vector<std::string> texts;
    for (const nlohmann::json& item : list) {
        if (!item.is_string() || item.get_ref<const std::string&>().empty()) return std::nullopt;
        texts.push_back(item.get<std::string>());
    }
    return texts;
}

std::optional<SettingValue> parse_scalar(const Key& key, std::string_view text) {
    switch (key.kind) {
        case Kind::number: {
            const auto value = parse_number<double>(text);
            if (!value || !std::isfinite(*value) || !in_range(key, *value)) return std::nullopt;
            return *value;
        }
        case Kind::integer: {
            const auto value = parse_number<int64_t>(text);
            if (!value || !in_range(key, static_cast<double>(*value))) return std::nullopt;
            return *value;
        }
        case Kind::boolean: {
            const auto value = parse_boolean(text);
            if (!value) return std::nullopt;
            return *value;
        }
        case Kind::choice: {
            const std::vector<std::string> words = choices(key);
            if (std::find(words.begin(), words.end(), text) == words.end()) return std::nullopt;
            return std::string(text);
        }
        case Kind::text:
            return std::string(text);
        case Kind::path: {
            const char* home = std::getenv("HOME");
            if (text.starts_with("~/") && home) return std::string(home) + std::string(text.substr(1));
            if (text.empty() || text.find('\0') != std::string_view::npos) return std::nullopt;
            return std::string(text);
        }
        case Kind::list: {
            const auto texts = parse_list(text);
            if (!texts) return std::nullopt;
            return *texts;
        }
    }
    return std::nullopt;
}

// In quotes; what printable() writes out is an escape sequence of YAML too.
std::string yaml_quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') (out += '\\') += c;
        else if (c == '\n') out += "\\n";
        else if (c == '\t') out += "\\t";
        else out += c;
    }
    return printable(out, std::string::npos) + "\"";
}

// Bytes that are no UTF-8 stay, for parse_value() to refuse.
std::string json_quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') (out += '\\') += c;
        else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", c);
        else out += c;
    }
    return out + "\"";
}

std::string list_of(const std::vector<std::string>& texts, std::string (*quoted)(std::string_view)) {
    std::string out = "[";
    for (const std::string& text : texts) out += (out.size() > 1 ? "," : "") + quoted(text);
    return out + "]";
}

}  // namespace

std::vector<std::string> choices(const Key& key) {
    std::vector<std::string> words;
    std::string_view rest = key.choices;
    while (!rest.empty()) {
        const size_t end = std::min(rest.find('|'), rest.size());
        words.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return words;
}

std::string allowed_values(const Key& key) {
    const std::string or_auto = takes_auto(key) ? " or auto" : "";
    const auto range = [&](const char* what) {
        // 2147483647 as an upper end says nothing to a reader
        if (key.most >= std::numeric_limits<int32_t>::max())
            return fmt::format("{} of at least {}{}", what, number_text(key.least), or_auto);
        return fmt::format("{} from {} to {}{}", what, number_text(key.least), number_text(key.most),
                           or_auto);
    };
    switch (key.kind) {
        case Kind::number:
            return range("a number");
        case Kind::integer:
            return range("an integer");
        case Kind::boolean:
            return "true or false" + or_auto;
        case Kind::choice: {
            std::string text;
            for (const std::string& word : choices(key)) text += text.empty() ? word : ", " + word;
            return "one of " + text + or_auto;
        }
        case Kind::text:
            return "a text";
        case Kind::path:
            return (key.is_folder ? "the path of a folder" : "the path of a file") + or_auto;
        case Kind::list:
            return "a list of texts, none of them empty";
    }
    return "";
}

Expected<std::optional<SettingValue>> parse_value(const Key& key, std::string_view name,
                                                  std::string_view text) {
    if (text == "null" || (text == "auto" && takes_auto(key))) return std::optional<SettingValue>();
    // Texts end up in prompts and in JSON; a path is whatever names a file.
    if ((key.kind == Kind::text || key.kind == Kind::list) && !is_utf8(text))
        return Error{Code::invalid, fmt::format("{} takes text in UTF-8, not \"{}\"", name, printable(text)),
                     "Write it in UTF-8: save the file so, or use a terminal whose locale says so."};
    std::optional<SettingValue> value = parse_scalar(key, text);
    if (!value) return not_allowed(key, name, text);
    return value;
}

std::string list_text(const std::vector<std::string>& texts) { return list_of(texts, json_quoted); }

std::string yaml_text(const SettingValue& value, Kind kind) {
    if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const int64_t* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
    if (const double* number = std::get_if<double>(&value)) return number_text(*number);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
        return list_of(*texts, yaml_quoted);
    const std::string& text = std::get<std::string>(value);
    return kind == Kind::choice ? text : yaml_quoted(text);
}

}  // namespace ft
