#include "text/go/functions.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/go/fields.h"

namespace ft::go {

namespace {

using jinja::Failure;
using GoArguments = std::span<const Value>;

// ---- comparing

bool is_number(const Value& value) { return value.kind == Kind::integer || value.kind == Kind::real; }

bool is_nothing(const Value& value) { return value.kind == Kind::missing || value.kind == Kind::nil; }

[[noreturn]] void fail_compare(std::string_view name, const Value& a, const Value& b) {
    throw Failure(fmt::format("{}: {} and {} cannot be compared", name, kind_name(a), kind_name(b)));
}

bool same(Run& run, const Value& a, const Value& b) {
    if (is_nothing(a) || is_nothing(b)) return is_nothing(a) && is_nothing(b);
    if (a.kind != b.kind) fail_compare("eq", a, b);
    switch (a.kind) {
        case Kind::boolean:
        case Kind::integer:
            return a.integer == b.integer;
        case Kind::real:
            return a.real == b.real;
        case Kind::text:
            run.heap().work(std::min(a.text.size(), b.text.size()));
            return a.text == b.text;
        default:
            fail_compare("eq", a, b);
    }
}

bool before(Run& run, std::string_view name, const Value& a, const Value& b) {
    if (a.kind != b.kind || (a.kind != Kind::text && !is_number(a))) fail_compare(name, a, b);
    if (a.kind == Kind::integer) return a.integer < b.integer;
    if (a.kind == Kind::real) return a.real < b.real;
    run.heap().work(std::min(a.text.size(), b.text.size()));
    return a.text < b.text;
}

Value equals(Run& run, GoArguments a) {
    for (const Value& other : a.subspan(1))
        if (same(run, a[0], other)) return Value::boolean(true);
    return Value::boolean(false);
}

Value differs(Run& run, GoArguments a) { return Value::boolean(!same(run, a[0], a[1])); }
Value is_less(Run& run, GoArguments a) { return Value::boolean(before(run, "lt", a[0], a[1])); }
Value is_greater(Run& run, GoArguments a) { return Value::boolean(before(run, "gt", a[1], a[0])); }
Value is_least(Run& run, GoArguments a) {
    return Value::boolean(before(run, "le", a[0], a[1]) || same(run, a[0], a[1]));
}
Value is_most(Run& run, GoArguments a) {
    return Value::boolean(before(run, "ge", a[1], a[0]) || same(run, a[0], a[1]));
}

Value negated(Run&, GoArguments a) { return Value::boolean(!truth(a[0])); }

// ---- parts

Value length(Run&, GoArguments a) { return Value::number(length_of(a[0])); }

size_t place(std::string_view name, const Value& index, int64_t most) {
    if (index.kind != Kind::integer)
        throw Failure(fmt::format("{}: a place is a whole number, not {}", name, kind_name(index)));
    if (index.integer < 0 || index.integer > most)
        throw Failure(fmt::format("{}: the place {} is out of range, there are {}", name, index.integer,
                                  name == "index" ? most + 1 : most));
    return static_cast<size_t>(index.integer);
}

Value item_at(Run& run, const Value& from, const Value& index) {
    if (from.kind == Kind::map && !is_struct(from.type)) {
        if (index.kind != Kind::text)
            throw Failure(fmt::format("index: a key is a text, not {}", kind_name(index)));
        return entry_of(run, from, index.text);
    }
    if (from.kind == Kind::text)
        return Value::number(
            static_cast<unsigned char>(from.text[place("index", index, length_of(from) - 1)]));
    if (from.kind != Kind::list) throw Failure(fmt::format("index: {} has no places", kind_name(from)));
    return item_of(from, place("index", index, length_of(from) - 1));
}

Value indexed(Run& run, GoArguments a) {
    Value value = a[0];
    for (const Value& index : a.subspan(1)) value = item_at(run, value, index);
    return value;
}

Value sliced(Run&, GoArguments a) {
    Value part = a[0];
    if (part.kind != Kind::list && part.kind != Kind::text)
        throw Failure(fmt::format("slice: {} has no parts", kind_name(part)));
    const int64_t length = length_of(part);
    const size_t to = a.size() > 2 ? place("slice", a[2], length) : static_cast<size_t>(length);
    const size_t from = a.size() > 1 ? place("slice", a[1], static_cast<int64_t>(to)) : 0;
    if (part.kind == Kind::text) return Value::of_text(part.text.substr(from, to - from));
    part.end = part.begin + to;
    part.begin += from;
    return part;
}

// ---- texts

// print: a blank between neighbours that are both no texts; println: between all.
Value printed(Run& run, GoArguments a) {
    std::string out;
    for (size_t i = 0; i < a.size(); i++) {
        if (i > 0 && a[i].kind != Kind::text && a[i - 1].kind != Kind::text) out += ' ';
        append_value(run, out, a[i]);
    }
    return run.text(std::move(out));
}

Value printed_line(Run& run, GoArguments a) {
    std::string out;
    for (size_t i = 0; i < a.size(); i++) {
        if (i > 0) out += ' ';
        append_value(run, out, a[i]);
    }
    return run.text(out + '\n');
}

void append_formatted(Run& run, std::string& out, char verb, const Value& value) {
    const bool fits = verb == 'v' || (verb == 's' && !is_number(value) && value.kind != Kind::boolean) ||
                      (verb == 'd' && value.kind == Kind::integer) ||
                      (verb == 't' && value.kind == Kind::boolean);
    if (!fits) throw Failure(fmt::format("printf: %{} does not write {}", verb, kind_name(value)));
    if (is_nothing(value)) out += "<nil>";
    else append_value(run, out, value);
}

Value formatted(Run& run, GoArguments a) {
    if (a[0].kind != Kind::text)
        throw Failure(fmt::format("printf: the format is a text, not {}", kind_name(a[0])));
    const std::string_view format = a[0].text;
    check_format(format);
    run.heap().work(format.size());
    std::string out;
    size_t used = 1;
    for (size_t at = 0; at < format.size(); at++) {
        if (format[at] != '%') {
            out += format[at];
            continue;
        }
        const char verb = format[++at];
        if (verb == '%') out += '%';
        else if (used < a.size()) append_formatted(run, out, verb, a[used++]);
        else throw Failure("printf: the format names more values than are given");
    }
    if (used < a.size()) throw Failure("printf: the format names fewer values than are given");
    return run.text(std::move(out));
}

Value as_json(Run& run, GoArguments a) {
    std::string out;
    append_json(run, out, a[0]);
    return run.text(std::move(out));
}

Value date_of(Run& run, std::chrono::sys_days day) {
    const std::chrono::year_month_day date(day);
    return run.text(fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day())));
}

std::chrono::sys_days today(const Run& run) {
    const jinja::LocalTime now = run.now();
    return std::chrono::year_month_day{std::chrono::year(now.year),
                                       std::chrono::month(static_cast<unsigned>(now.month)),
                                       std::chrono::day(static_cast<unsigned>(now.day))};
}

Value current_date(Run& run, GoArguments) { return date_of(run, today(run)); }
Value yesterday_date(Run& run, GoArguments) { return date_of(run, today(run) - std::chrono::days(1)); }

std::string_view script_type(std::string_view schema_type) {
    if (schema_type == "string" || schema_type == "boolean" || schema_type == "null") return schema_type;
    if (schema_type == "number" || schema_type == "integer") return "number";
    if (schema_type == "array") return "any[]";
    return schema_type == "object" ? "Record<string, any>" : "any";
}

// The TypeScript type of a property: of all of its types, or those of its alternatives, with | between.
void append_script_type(Run& run, std::string& out, const Value& property, int depth) {
    if (depth > jinja::k_max_nesting) throw Failure("toTypeScriptType: a schema is nested too deep");
    if (property.type != Type::property || property.kind != Kind::map) {
        out += "any";
        return;
    }
    const Value alternatives = field_of(run, property, "AnyOf");
    const Value types = field_of(run, property, "Type");
    const Value& listed = truth(alternatives) ? alternatives : types;
    if (listed.kind != Kind::list) {
        out += types.kind == Kind::text ? script_type(types.text) : "any";
        return;
    }
    for (size_t i = 0; i < static_cast<size_t>(length_of(listed)); i++) {
        if (i > 0) out += " | ";
        const Value item = item_of(listed, i);
        if (listed.type == Type::alternatives) append_script_type(run, out, item, depth + 1);
        else out += item.kind == Kind::text ? script_type(item.text) : "any";
        run.heap().step();
    }
}

Value to_script_type(Run& run, GoArguments a) {
    std::string out;
    append_script_type(run, out, a[0], 0);
    return run.text(std::move(out));
}

constexpr size_t k_any_number = 1000;

constexpr Function k_functions[] = {
    {"and", 1, k_any_number, Evaluation::until_false, nullptr},
    {"or", 1, k_any_number, Evaluation::until_true, nullptr},
    {"not", 1, 1, Evaluation::all, negated},
    {"eq", 2, k_any_number, Evaluation::all, equals},
    {"ne", 2, 2, Evaluation::all, differs},
    {"lt", 2, 2, Evaluation::all, is_less},
    {"le", 2, 2, Evaluation::all, is_least},
    {"gt", 2, 2, Evaluation::all, is_greater},
    {"ge", 2, 2, Evaluation::all, is_most},
    {"len", 1, 1, Evaluation::all, length},
    {"index", 1, k_any_number, Evaluation::all, indexed},
    {"slice", 1, 3, Evaluation::all, sliced},
    {"print", 0, k_any_number, Evaluation::all, printed},
    {"println", 0, k_any_number, Evaluation::all, printed_line},
    {"printf", 1, k_any_number, Evaluation::all, formatted},
    {"json", 1, 1, Evaluation::all, as_json},
    {"currentDate", 0, 1, Evaluation::all, current_date},
    {"yesterdayDate", 0, 1, Evaluation::all, yesterday_date},
    {"toTypeScriptType", 1, 1, Evaluation::all, to_script_type},
};

}  // namespace

const Function* find_function(std::string_view name) {
    const auto at = std::find_if(std::begin(k_functions), std::end(k_functions),
                                 [&](const Function& f) { return f.name == name; });
    return at == std::end(k_functions) ? nullptr : at;
}

void check_format(std::string_view format) {
    constexpr std::string_view k_verbs = "svdt%";
    for (size_t at = format.find('%'); at != std::string_view::npos; at = format.find('%', at + 2))
        if (at + 1 >= format.size() || k_verbs.find(format[at + 1]) == std::string_view::npos)
            throw Failure(fmt::format("printf: the format {} is not supported beyond %s, %v, %d, %t and %%",
                                      printable(std::string(format.substr(at, 4)), 16)));
}

}  // namespace ft::go
