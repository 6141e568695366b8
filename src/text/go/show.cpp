// Values as text: as {{ }} prints them, and as JSON.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utf8.h"
#include "text/go/fields.h"
#include "text/go/value.h"

namespace ft::go {

namespace {

// JSON of Go's encoding/json: < > & are escaped, and so are the two line ends that JavaScript does not take.
void append_json_text(std::string& out, std::string_view text) {
    constexpr std::string_view k_letters = "\"\\\b\f\n\r\t", k_written = "\"\\bfnrt";
    out += '"';
    for (size_t at = 0; at < text.size();) {
        const Utf8Char c = utf8_at(text, at);
        const size_t letter =
            c.code < 0x80 ? k_letters.find(static_cast<char>(c.code)) : std::string_view::npos;
        if (letter != std::string_view::npos && c.code != 0) (out += '\\') += k_written[letter];
        else if (c.code < 0x20 || c.code == '<' || c.code == '>' || c.code == '&' || c.code == 0x2028 ||
                 c.code == 0x2029)
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c.code));
        else append_utf8(out, c.code);
        at += static_cast<size_t>(c.size);
    }
    out += '"';
}

// The shortest text that reads back the same, with the exponent from 1e21 on and below 1e-6.
void append_json_real(std::string& out, double value) {
    const double size = std::abs(value);
    const bool scientific = size != 0 && (size < 1e-6 || size >= 1e21);
    char text[400];
    const auto done = std::to_chars(text, text + sizeof text, value,
                                    scientific ? std::chars_format::scientific : std::chars_format::fixed);
    std::string_view written(text, static_cast<size_t>(done.ptr - text));
    const size_t zero = written.find("e-0");
    out += zero == std::string_view::npos
               ? std::string(written)
               : std::string(written.substr(0, zero + 2)) + std::string(written.substr(zero + 3));
}

// %v of a float64: the shortest digits, with the exponent below 1e-4 and from 1e6 on.
void append_real(std::string& out, double value) {
    char text[400];
    const auto done = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
    const std::string_view written(text, static_cast<size_t>(done.ptr - text));
    const size_t at = written.find('e');
    int exponent = 0;
    if (at != std::string_view::npos)
        std::from_chars(written.data() + at + (written[at + 1] == '+' ? 2 : 1), done.ptr, exponent);
    if (at == std::string_view::npos || exponent < -4 || exponent >= 6) {
        out += written;
        return;
    }
    const auto plain = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
    out.append(text, plain.ptr);
}

class JsonWriter {
 public:
    JsonWriter(Run& run, std::string& out) : run_(run), out_(out) {}

    void write(const Json& json, Type type, int depth) {
        if (depth > jinja::k_max_nesting)
            throw jinja::Failure(fmt::format("JSON is nested deeper than {} levels", jinja::k_max_nesting));
        run_.heap().step();
        run_.heap().check_string(out_.size());
        if (json.is_string()) append_json_text(out_, json.get_ref<const std::string&>());
        else if (json.is_number_float()) append_json_real(out_, json.get<double>());
        else if (json.is_array()) write_list(json, 0, json.size(), type, depth);
        else if (json.is_object()) write_map(json, type, depth);
        else out_ += json.dump();
    }

    void write_list(const Json& json, size_t begin, size_t end, Type type, int depth) {
        out_ += '[';
        for (size_t i = begin; i < end; i++) {
            if (i > begin) out_ += ',';
            write(json[i], item_type(type), depth + 1);
        }
        out_ += ']';
    }

 private:
    // Fields first, in their order; then what else stands there, as it came, or of a map all by its key.
    void write_map(const Json& json, Type type, int depth) {
        out_ += '{';
        bool first = true;
        const auto entry = [&](std::string_view key, const Json& item, Type item_type) {
            if (!first) out_ += ',';
            first = false;
            append_json_text(out_, key);
            out_ += ':';
            write(item, item_type, depth + 1);
        };
        const auto fields = fields_of(type);
        run_.heap().step(1 + json.size() * (1 + fields.size()) / 8);
        for (const FieldRow& row : fields)
            if (const auto at = json.find(row.key); at != json.end()) entry(row.key, *at, row.type);
        std::vector<std::pair<std::string_view, const Json*>> others;
        for (const auto& [key, item] : json.items())
            if (fields.empty() || (keeps_others(type) && !has_key(fields, key)))
                others.emplace_back(key, &item);
        if (fields.empty())
            std::sort(others.begin(), others.end(),
                      [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [key, item] : others)
            entry(key, *item, type == Type::root ? root_type(key) : item_type(type));
        out_ += '}';
    }

    static bool has_key(std::span<const FieldRow> fields, std::string_view key) {
        return std::any_of(fields.begin(), fields.end(), [&](const FieldRow& row) { return row.key == key; });
    }

    Run& run_;
    std::string& out_;
};

void append_nested(Run& run, std::string& out, const Value& value, int depth);

// [a b] and map[a:1 b:2]
void append_container(Run& run, std::string& out, const Value& value, int depth) {
    if (depth > jinja::k_max_nesting)
        throw jinja::Failure(fmt::format("a list is nested deeper than {} levels", jinja::k_max_nesting));
    bool first = true;
    const auto item = [&](std::string_view key, const Value& of) {
        if (!first) out += ' ';
        first = false;
        out += key;
        append_nested(run, out, of, depth + 1);
    };
    out += value.kind == Kind::list ? "[" : "map[";
    if (value.kind == Kind::list)
        for (size_t i = 0; i < value.end - value.begin; i++) item("", item_of(value, i));
    else
        for (const auto& [key, of] : entries_of(run, value)) item(std::string(key) + ':', of);
    out += ']';
}

void append_nested(Run& run, std::string& out, const Value& value, int depth) {
    run.heap().step();
    run.heap().check_string(out.size() + value.text.size());
    switch (value.kind) {
        case Kind::missing:
        case Kind::nil:
            out += depth == 0 ? "<no value>" : "<nil>";
            return;
        case Kind::boolean:
            out += value.integer ? "true" : "false";
            return;
        case Kind::integer:
            out += std::to_string(value.integer);
            return;
        case Kind::real:
            return append_real(out, value.real);
        case Kind::text:
            out += value.text;
            return;
        default:
            break;
    }
    if (prints_json(value.type)) return append_json(run, out, value);
    if (value.type != Type::any)
        throw jinja::Failure(
            fmt::format("{} has no text of its own: print its fields, or json of it", kind_name(value)));
    append_container(run, out, value, depth);
}

}  // namespace

void append_value(Run& run, std::string& out, const Value& value) { append_nested(run, out, value, 0); }

void append_json(Run& run, std::string& out, const Value& value) {
    JsonWriter writer(run, out);
    switch (value.kind) {
        case Kind::list:
            return writer.write_list(*value.json, value.begin, value.end, value.type, 0);
        case Kind::map:
            return writer.write(*value.json, value.type, 0);
        case Kind::text:
            return append_json_text(out, value.text);
        case Kind::real:
            return append_json_real(out, value.real);
        case Kind::integer:
            out += std::to_string(value.integer);
            return;
        case Kind::boolean:
            out += value.integer ? "true" : "false";
            return;
        default:
            out += "null";
    }
}

}  // namespace ft::go
