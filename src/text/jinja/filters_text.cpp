// Filters whose result is a string or a number.
#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/code_points.h"
#include "text/jinja/filter_tables.h"
#include "text/jinja/format.h"
#include "text/jinja/heap.h"
#include "text/jinja/methods.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace ft::jinja {

namespace {

bool is_markup(const Value& value) { return value.is_string() && value.string_object().markup; }

template <std::string (*change)(std::string_view)>
Value recased(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("this filter", given, {});
    const std::string text = text_of(heap, value);
    heap.work_on_characters(text.size());
    return heap.string(change(text), is_markup(value));
}

// Every part between blanks, brackets and hyphens starts with a capital, the rest is small.
std::string titled(std::string_view text) {
    std::string out;
    const auto separates = [](char32_t c) {
        return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
    };
    size_t at = 0;
    while (at < text.size()) {
        size_t end = at;
        bool first_separates = false;
        for_code_points(text.substr(at), [&](char32_t c, std::string_view bytes) {
            if (end == at) first_separates = separates(c);
            else if (separates(c) != first_separates) return false;
            end += bytes.size();
            return true;
        });
        const auto first = static_cast<size_t>(utf8_size(text[at]));
        out += upper(text.substr(at, first));
        out += lower(text.substr(at + first, end - at - first));
        at = end;
    }
    return out;
}

Value trim(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("trim", given, {"chars"});
    const std::string text = text_of(heap, value);
    heap.work(text.size());
    const auto chars = p.has_value(0) ? std::optional<std::string_view>(p.text(0)) : std::nullopt;
    if (chars) heap.work(text.size() / 16 * chars->size());
    const std::string_view stripped = strip(text, Side::both, chars);
    heap.work_on_characters(text.size() - stripped.size());
    return heap.string(std::string(stripped), is_markup(value));
}

Value as_string(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("string", given, {});
    return value.is_string() ? value : heap.string(text_of(heap, value));
}

Value safe(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("safe", given, {});
    return heap.string(text_of(heap, value), true);
}

Value escape(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("escape", given, {});
    if (is_markup(value)) return value;
    const std::string text = text_of(heap, value);
    heap.check_string(text.size() * 2);
    return heap.string(escape_html(text), true);
}

Value force_escape(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("forceescape", given, {});
    const std::string text = text_of(heap, value);
    heap.check_string(text.size() * 2);
    return heap.string(escape_html(text), true);
}

Value replace(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("replace", given, {"old", "new", "count"}, 2);
    const int64_t count = p.has_value(2) ? p.integer(2, -1) : -1;
    return heap.string(replaced(heap, text_of(heap, value), text_of(heap, p[0]), text_of(heap, p[1]), count));
}

Value indent(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("indent", given, {"width", "first", "blank"});
    if (!value.is_string()) {
        need_defined(value);
        throw Failure(fmt::format("indent needs a string, not {}", type_name(value)));
    }
    std::string margin(4, ' ');
    if (p.has(0) && p[0].is_string()) {
        margin = p[0].text();
    } else if (p.has(0)) {
        const int64_t width = std::max<int64_t>(p.integer(0, 4), 0);
        heap.check_string(static_cast<uint64_t>(width));
        margin.assign(static_cast<size_t>(width), ' ');
    }
    const std::string text = value.text() + "\n";
    heap.work_on_characters(text.size());
    std::string out;
    bool first = true;
    for (const std::string_view line : split_lines(text)) {
        heap.check_string(out.size() + margin.size() + line.size() + 1);
        if (!first) out += '\n';
        const bool indented = first ? p.flag(1) : p.flag(2) || !line.empty();
        if (indented) out += margin;
        out += line;
        first = false;
    }
    return heap.string(std::move(out), is_markup(value));
}

Value truncate_text(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("truncate", given, {"length", "killwords", "end", "leeway"});
    if (!value.is_string()) throw Failure(fmt::format("truncate needs a string, not {}", type_name(value)));
    const int64_t length = p.integer(0, 255);
    const std::string end = p.has(2) ? p.text(2) : "...";
    const int64_t leeway = p.has_value(3) ? p.integer(3, 5) : 5;
    const int64_t end_length = code_point_count(end);
    if (length < end_length) throw Failure(fmt::format("expected length >= {}, got {}", end_length, length));
    if (leeway < 0) throw Failure(fmt::format("expected leeway >= 0, got {}", leeway));
    if (value.string_object().length <= length || value.string_object().length - length <= leeway)
        return value;
    const std::string_view kept =
        std::string_view(value.text()).substr(0, byte_offset(value.text(), length - end_length));
    const size_t blank = p.flag(1) ? std::string_view::npos : kept.rfind(' ');
    return heap.string(std::string(kept.substr(0, blank)) + end, is_markup(value));
}

Value center(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("center", given, {"width"});
    const Value text = value.is_string() ? value : heap.string(text_of(heap, value));
    return find_method(text, "center")->call(heap, text, {{Value::integer(p.integer(0, 80))}, {}});
}

Value word_count(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("wordcount", given, {});
    int64_t words = 0;
    bool inside = false;
    const std::string text = text_of(heap, value);
    heap.work_on_characters(text.size());
    for_code_points(text, [&](char32_t c, std::string_view) {
        words += is_word(c) && !inside ? 1 : 0;
        inside = is_word(c);
        return true;
    });
    return Value::integer(words);
}

// Percent escapes for all but letters, digits and _.-~, and / unless it stands in a query.
std::string url_quoted(std::string_view text, bool query) {
    std::string out;
    for (const char c : text) {
        const bool plain = is_ascii_letter(c) || is_ascii_digit(c) || c == '_' || c == '.' || c == '-' ||
                           c == '~' || (c == '/' && !query);
        if (plain) out += c;
        else if (c == ' ' && query) out += '+';
        else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

Value url_encode(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("urlencode", given, {});
    if (value.is_string() || !is_iterable(value)) {
        const std::string text = text_of(heap, value);
        heap.check_string(text.size() * 3);
        heap.work_on_characters(text.size());
        return heap.string(url_quoted(text, false));
    }
    std::string out;
    const auto append = [&](const Value& key, const Value& item) {
        const std::string pair =
            url_quoted(text_of(heap, key), true) + "=" + url_quoted(text_of(heap, item), true);
        heap.check_string(out.size() + pair.size() + 1);
        if (!out.empty()) out += '&';
        out += pair;
    };
    if (value.is_map()) {
        for (const auto& [key, item] : value.map().entries) append(key, item);
        return heap.string(std::move(out));
    }
    const Value items = items_of(heap, value);
    for (const Value& item : items.sequence().items) {
        const Value pair = items_of(heap, item);
        if (pair.sequence().items.size() != 2) throw Failure("urlencode needs pairs of name and value");
        append(pair.sequence().items[0], pair.sequence().items[1]);
    }
    return heap.string(std::move(out));
}

// Tags and comments removed, runs of white space made one blank. Text with & is refused: entities are not
// known here.
Value strip_tags(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("striptags", given, {});
    const std::string text = text_of(heap, value);
    heap.work_on_characters(text.size());
    if (text.find('&') != std::string::npos)
        throw Failure("striptags of text with HTML entities is not supported");
    std::string out;
    bool more_ends = true;  // a > may follow
    for (size_t at = 0; at < text.size();) {
        const bool comment = text.compare(at, 4, "<!--") == 0;
        const bool opens = text[at] == '<' && more_ends;
        const size_t end = !opens ? std::string::npos : text.find(comment ? "-->" : ">", at);
        if (opens && end == std::string::npos && !comment) more_ends = false;
        if (opens && end == std::string::npos && comment)
            throw Failure("striptags of text with an open comment is not supported");
        if (end == std::string::npos) out += text[at++];
        else at = end + (comment ? 3 : 1);
    }
    std::string joined;
    for (const std::string_view word : split_space(out)) (joined += joined.empty() ? "" : " ") += word;
    return heap.string(std::move(joined));
}

Value format(Heap& heap, const Value& value, const Arguments& given) {
    if (!given.positional.empty() && !given.named.empty())
        throw Failure("can't handle positional and keyword arguments at the same time");
    const Value text = value.is_string() ? value : heap.string(text_of(heap, value));
    if (given.named.empty()) return format_printf(heap, text, heap.tuple(given.positional));
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [name, item] : given.named) entries.emplace_back(heap.string(name), item);
    return format_printf(heap, text, heap.map(std::move(entries)));
}

Value json(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("tojson", given, {"ensure_ascii", "indent", "separators", "sort_keys"});
    JsonForm form;
    form.ascii = p.flag(0);
    form.sort_keys = p.flag(3);
    if (p.has_value(1)) {
        form.pretty = true;
        form.item_separator = ",";
        if (p[1].is_string()) {
            form.indent = p[1].text();
        } else {
            const int64_t width = std::max<int64_t>(p.integer(1, 0), 0);
            heap.check_string(static_cast<uint64_t>(width));
            form.indent.assign(static_cast<size_t>(width), ' ');
        }
    }
    if (p.has_value(2)) {
        const Value pair = items_of(heap, p[2]);
        const auto& both = pair.sequence().items;
        if (both.size() != 2 || !both[0].is_string() || !both[1].is_string())
            throw Failure("tojson: separators are two strings");
        form.item_separator = both[0].text();
        form.key_separator = both[1].text();
    }
    return heap.string(to_json(heap, value, form));
}

Value pretty(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("pprint", given, {});
    std::string text = repr(heap, value);
    // Python breaks longer values over lines and sorts keys.
    if (text.size() > 80 || (value.is_map() && value.map().entries.size() > 1))
        throw Failure("pprint of larger values is not supported");
    return heap.string(std::move(text));
}

Value file_size(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("filesizeformat", given, {"binary"});
    std::optional<double> bytes;
    if (value.is_number()) bytes = value.as_real();
    else if (value.is_string()) bytes = parse_real(value.text());
    if (!bytes) throw Failure(fmt::format("filesizeformat needs a number, not {}", type_name(value)));
    const bool binary = p.flag(0);
    const double base = binary ? 1024 : 1000;
    if (*bytes == 1) return heap.string("1 Byte");
    if (*bytes < base) return heap.string(fmt::format("{} Bytes", truncate(*bytes)));
    constexpr std::string_view k_prefixes = "kMGTPEZY";
    double unit = base;
    size_t i = 0;
    while (i + 1 < k_prefixes.size() && *bytes >= unit * base) {
        unit *= base;
        i++;
    }
    const char prefix = binary && i == 0 ? 'K' : k_prefixes[i];
    return heap.string(fmt::format("{:.1f} {}{}", *bytes / unit, prefix, binary ? "iB" : "B"));
}

Value as_integer(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("int", given, {"default", "base"});
    need_defined(value);
    const Value otherwise = p.or_else(0, Value::integer(0));
    if (value.is_integral()) return Value::integer(value.as_integer());
    if (value.is(Kind::big_integer)) return value;
    if (value.is(Kind::real))
        return std::isnan(value.as_real()) ? otherwise : Value::integer(truncate(value.as_real()));
    if (!value.is_string()) return otherwise;
    heap.work_on_characters(value.text().size());
    const int64_t base = p.integer(1, 10);
    if (base != 0 && (base < 2 || base > 36)) throw Failure("int: the base is 0 or from 2 to 36");
    if (const auto number = parse_integer(value.text(), static_cast<int>(base)))
        return Value::integer(*number);
    const auto number = parse_real(value.text());  // so that '42.23' gives 42
    if (!number || !std::isfinite(*number)) return otherwise;
    return Value::integer(truncate(*number));
}

Value as_real(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("float", given, {"default"});
    need_defined(value);
    if (value.is_number()) return Value::real(value.as_real());
    if (value.is(Kind::big_integer)) return Value::real(real_of_digits(value.as<BigIntegerObject>().digits));
    if (value.is_string()) {
        heap.work_on_characters(value.text().size());
        if (const auto number = parse_real(value.text())) return Value::real(*number);
    }
    return p.or_else(0, Value::real(0));
}

Value absolute(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("abs", given, {});
    (void)heap;
    need_defined(value);
    if (!value.is_number()) throw Failure(fmt::format("bad operand type for abs(): '{}'", type_name(value)));
    if (value.is(Kind::real)) return Value::real(std::fabs(value.as_real()));
    return value.as_integer() < 0 ? negate(value) : Value::integer(value.as_integer());
}

Value rounded(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("round", given, {"precision", "method"});
    (void)heap;
    need_defined(value);
    const std::string method = p.has(1) ? p.text(1) : "common";
    const int64_t precision = p.integer(0, 0);
    if (method != "common" && method != "ceil" && method != "floor")
        throw Failure("method must be common, ceil or floor");
    if (!value.is_number()) throw Failure(fmt::format("type {} cannot be rounded", type_name(value)));
    if (std::abs(precision) > 400) throw Failure("round: the precision is too large");
    if (method == "common") {
        const double result = round_real(value.as_real(), static_cast<int>(precision));
        if (value.is_integral())
            return precision >= 0 ? Value::integer(value.as_integer()) : Value::integer(truncate(result));
        return Value::real(result);
    }
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = value.as_real() * scale;
    if (!std::isfinite(scaled)) throw Failure("cannot convert float infinity to integer");
    return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale + 0.0);
}

constexpr Filter k_text_filters[] = {
    {"abs", &absolute},
    {"capitalize", &recased<capitalize>},
    {"center", &center},
    {"e", &escape},
    {"escape", &escape},
    {"filesizeformat", &file_size},
    {"float", &as_real},
    {"forceescape", &force_escape},
    {"format", &format},
    {"indent", &indent},
    {"int", &as_integer},
    {"lower", &recased<lower>},
    {"pprint", &pretty},
    {"replace", &replace},
    {"round", &rounded},
    {"safe", &safe},
    {"string", &as_string},
    {"striptags", &strip_tags},
    {"title", &recased<titled>},
    {"tojson", &json},
    {"trim", &trim},
    {"truncate", &truncate_text},
    {"upper", &recased<upper>},
    {"urlencode", &url_encode},
    {"wordcount", &word_count},
};

}  // namespace

std::span<const Filter> text_filters() { return k_text_filters; }

}  // namespace ft::jinja
