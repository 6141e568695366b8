#include "text/jinja/show.h"

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/code_points.h"
#include "text/jinja/heap.h"
#include "text/jinja/loop.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"

namespace ft::jinja {

namespace {

void append_items(Heap& heap, std::string& out, const std::vector<Value>& items, int depth) {
    for (size_t i = 0; i < items.size(); i++) {
        if (i > 0) out += ", ";
        append_repr(heap, out, items[i], depth + 1);
    }
}

void append_sequence(Heap& heap, std::string& out, const SequenceObject& sequence, int depth) {
    switch (sequence.kind) {
        case SequenceKind::list:
            out += '[';
            append_items(heap, out, sequence.items, depth);
            out += ']';
            return;
        case SequenceKind::tuple:
        case SequenceKind::group:
            out += '(';
            append_items(heap, out, sequence.items, depth);
            out += sequence.items.size() == 1 ? ",)" : ")";
            return;
        case SequenceKind::generator:
            throw Failure("a generator is not text: add |list to print what it gives");
        case SequenceKind::dict_keys:
            out += "dict_keys([";
            break;
        case SequenceKind::dict_values:
            out += "dict_values([";
            break;
        case SequenceKind::dict_items:
            out += "dict_items([";
            break;
    }
    append_items(heap, out, sequence.items, depth);
    out += "])";
}

template <class Entries, class Key>
void append_entries(Heap& heap, std::string& out, const Entries& entries, Key key, int depth) {
    out += '{';
    bool first = true;
    for (const auto& [k, v] : entries) {
        if (!first) out += ", ";
        first = false;
        key(k);
        out += ": ";
        append_repr(heap, out, v, depth + 1);
    }
    out += '}';
}

void append_range(std::string& out, const RangeObject& range) {
    out += range.step == 1 ? fmt::format("range({}, {})", range.start, range.stop)
                           : fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
}

std::string escaped(char32_t c) {
    if (c <= 0xFF) return fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    if (c <= 0xFFFF) return fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    return fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
}

}  // namespace

std::string quoted(std::string_view text) {
    const bool single = text.find('\'') != std::string_view::npos;
    const char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
    std::string out(1, quote);
    for_code_points(text, [&](char32_t c, std::string_view bytes) {
        if (c == static_cast<unsigned char>(quote) || c == '\\') {
            out += '\\';
            out += bytes;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (is_printable(c)) {
            out += bytes;
        } else {
            out += escaped(c);
        }
        return true;
    });
    out += quote;
    return out;
}

void append_text(Heap& heap, std::string& out, const Value& value) {
    if (value.is_undefined()) return;
    if (!value.is_string()) {
        append_repr(heap, out, value);
        return;
    }
    heap.check_string(out.size() + value.text().size());
    heap.work(value.text().size());
    out += value.text();
}

std::string to_text(Heap& heap, const Value& value) {
    std::string out;
    append_text(heap, out, value);
    return out;
}

std::string repr(Heap& heap, const Value& value) {
    std::string out;
    append_repr(heap, out, value);
    return out;
}

void append_repr(Heap& heap, std::string& out, const Value& value, int depth) {
    if (depth > k_max_nesting)
        throw Failure(fmt::format("a value is nested deeper than {} levels", k_max_nesting));
    switch (value.kind()) {
        case Kind::none:
            out += "None";
            break;
        case Kind::boolean:
            out += value.as_boolean() ? "True" : "False";
            break;
        case Kind::integer:
            out += std::to_string(value.as_integer());
            break;
        case Kind::real:
            out += real_text(value.as_real());
            break;
        case Kind::big_integer:
            out += value.as<BigIntegerObject>().digits;
            break;
        case Kind::undefined:
            out += "Undefined";
            break;
        case Kind::string:
            heap.work_on_characters(value.text().size());
            out +=
                value.string_object().markup ? "Markup(" + quoted(value.text()) + ")" : quoted(value.text());
            break;
        case Kind::sequence:
            append_sequence(heap, out, value.sequence(), depth);
            break;
        case Kind::map:
            append_entries(
                heap, out, value.map().entries, [&](const Value& k) { append_repr(heap, out, k, depth + 1); },
                depth);
            break;
        case Kind::range:
            append_range(out, value.range());
            break;
        case Kind::name_space:
            out += "<Namespace ";
            append_entries(
                heap, out, value.as<NamespaceObject>().attributes,
                [&](const std::string& k) { out += quoted(k); }, depth);
            out += '>';
            break;
        case Kind::loop: {
            const auto& loop = value.as<LoopObject>();
            out += fmt::format("<LoopContext {}/{}>", loop.index + 1, loop.items.sequence().items.size());
            break;
        }
        case Kind::macro:
        case Kind::method:
        case Kind::function:
        case Kind::cycler:
        case Kind::joiner:
            throw Failure(fmt::format("a {} is not text and cannot be printed", type_name(value)));
    }
    heap.check_string(out.size());
    heap.work(16);
}

std::string escape_html(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '"':
                out += "&#34;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

}  // namespace ft::jinja
