// JSON as Python's json.dumps writes it: by default ", " and ": ", non-ASCII kept, keys in their order.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "text/jinja/code_points.h"
#include "text/jinja/heap.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace ft::jinja {

namespace {

class JsonWriter {
 public:
    JsonWriter(Heap& heap, const JsonForm& form) : heap_(heap), form_(form) {}

    void write(const Value& value, int depth) {
        if (depth > k_max_nesting)
            throw Failure(fmt::format("a value is nested deeper than {} levels", k_max_nesting));
        heap_.work(16);
        switch (value.kind()) {
            case Kind::none:
                out_ += "null";
                break;
            case Kind::boolean:
                out_ += value.as_boolean() ? "true" : "false";
                break;
            case Kind::integer:
                out_ += std::to_string(value.as_integer());
                break;
            case Kind::big_integer:
                out_ += value.as<BigIntegerObject>().digits;
                break;
            case Kind::real:
                out_ += number(value.as_real());
                break;
            case Kind::string:
                text(value.text());
                break;
            case Kind::map:
                object(value.map(), depth);
                break;
            case Kind::sequence:
                if (is_array(value.sequence().kind)) {
                    array(value.sequence().items, depth);
                    break;
                }
                [[fallthrough]];
            default:
                throw Failure(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
        }
        heap_.check_string(out_.size());
    }
    std::string take() { return std::move(out_); }

 private:
    static bool is_array(SequenceKind kind) {
        return kind == SequenceKind::list || kind == SequenceKind::tuple || kind == SequenceKind::group;
    }
    static std::string number(double value) {
        if (std::isnan(value)) return "NaN";
        if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
        return real_text(value);
    }

    void line(int depth) {
        if (!form_.pretty) return;
        heap_.check_string(out_.size() + 1 + form_.indent.size() * static_cast<size_t>(depth));
        out_ += '\n';
        for (int i = 0; i < depth; i++) out_ += form_.indent;
    }

    void array(const std::vector<Value>& items, int depth) {
        if (items.empty()) {
            out_ += "[]";
            return;
        }
        out_ += '[';
        for (size_t i = 0; i < items.size(); i++) {
            if (i > 0) out_ += form_.item_separator;
            line(depth + 1);
            write(items[i], depth + 1);
        }
        line(depth);
        out_ += ']';
    }

    void object(const MapObject& map, int depth) {
        if (map.entries.empty()) {
            out_ += "{}";
            return;
        }
        std::vector<const std::pair<Value, Value>*> entries;
        for (const auto& entry : map.entries) entries.push_back(&entry);
        if (form_.sort_keys)
            std::stable_sort(entries.begin(), entries.end(),
                             [](const auto* a, const auto* b) { return less(a->first, b->first); });
        out_ += '{';
        bool first = true;
        for (const auto* entry : entries) {
            if (!first) out_ += form_.item_separator;
            first = false;
            line(depth + 1);
            key(entry->first);
            out_ += form_.key_separator;
            write(entry->second, depth + 1);
        }
        line(depth);
        out_ += '}';
    }

    void key(const Value& key) {
        switch (key.kind()) {
            case Kind::string:
                text(key.text());
                break;
            case Kind::none:
                out_ += "\"null\"";
                break;
            case Kind::boolean:
                out_ += key.as_boolean() ? "\"true\"" : "\"false\"";
                break;
            case Kind::integer:
                out_ += fmt::format("\"{}\"", key.as_integer());
                break;
            case Kind::real:
                out_ += fmt::format("\"{}\"", number(key.as_real()));
                break;
            default:
                throw Failure(
                    fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
        }
    }

    void text(const std::string& text) {
        heap_.check_string(out_.size() + text.size() + 2);
        if (form_.ascii) heap_.work_on_characters(text.size());
        heap_.work(4 * text.size());
        out_ += '"';
        if (form_.ascii) {
            for_code_points(text, [&](char32_t c, std::string_view bytes) { return wide(c, bytes), true; });
        } else {
            for (const char c : text) byte(c);
        }
        out_ += '"';
    }

    void byte(char c) {
        switch (c) {
            case '"':
                out_ += "\\\"";
                break;
            case '\\':
                out_ += "\\\\";
                break;
            case '\n':
                out_ += "\\n";
                break;
            case '\r':
                out_ += "\\r";
                break;
            case '\t':
                out_ += "\\t";
                break;
            case '\b':
                out_ += "\\b";
                break;
            case '\f':
                out_ += "\\f";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20)
                    out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
                else out_ += c;
        }
    }

    void wide(char32_t c, std::string_view bytes) {
        const auto code = static_cast<uint32_t>(c);
        if (code < 0x7F) byte(bytes[0]);
        else if (code <= 0xFFFF) out_ += fmt::format("\\u{:04x}", code);
        else out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
    }

    Heap& heap_;
    const JsonForm& form_;
    std::string out_;
};

}  // namespace

std::string to_json(Heap& heap, const Value& value, const JsonForm& form) {
    JsonWriter writer(heap, form);
    writer.write(value, 0);
    return writer.take();
}

}  // namespace ft::jinja
