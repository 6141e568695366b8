#include "text/jinja/operators.h"

#include <cmath>

#include "base/error.h"
#include "text/jinja/code_points.h"
#include "text/jinja/format.h"
#include "text/jinja/heap.h"
#include "text/jinja/loop.h"
#include "text/jinja/search.h"
#include "text/jinja/show.h"

namespace ft::jinja {

namespace {

void check_depth(int depth) {
    if (depth > k_max_nesting)
        throw Failure(fmt::format("a value is nested deeper than {} levels", k_max_nesting));
}

void count(const Value& value, uint64_t bytes) {
    if (Heap* heap = value.object()->heap) heap->work(bytes);
}

bool equal_at(const Value& a, const Value& b, int depth);

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b, int depth) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++)
        if (!equal_at(a[i], b[i], depth + 1)) return false;
    return true;
}

bool equal_maps(const MapObject& a, const MapObject& b, int depth) {
    if (a.entries.size() != b.entries.size()) return false;
    for (const auto& [key, value] : a.entries) {
        const Value* other = b.find(key);
        if (other == nullptr || !equal_at(value, *other, depth + 1)) return false;
    }
    return true;
}

SequenceKind comparable_kind(SequenceKind kind) {
    return kind == SequenceKind::group ? SequenceKind::tuple : kind;
}

bool equal_sequences(const Value& a, const Value& b, int depth) {
    const SequenceObject& x = a.sequence();
    const SequenceObject& y = b.sequence();
    if (&x == &y) return true;
    if (comparable_kind(x.kind) != comparable_kind(y.kind)) return false;
    if (x.kind == SequenceKind::generator || x.kind == SequenceKind::dict_values) return false;
    if (x.kind == SequenceKind::dict_keys || x.kind == SequenceKind::dict_items)
        throw Failure("comparing views of a dict is not supported: compare the dicts or lists");
    count(a, 16 * (x.items.size() + 1));
    return equal_items(x.items, y.items, depth);
}

bool equal_ranges(const RangeObject& a, const RangeObject& b) {
    if (a.count != b.count) return false;
    return a.count == 0 || (a.start == b.start && (a.count == 1 || a.step == b.step));
}

bool equal_at(const Value& a, const Value& b, int depth) {
    check_depth(depth);
    if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::none:
        case Kind::undefined:
            return true;
        case Kind::string:
            if (a.text().size() != b.text().size()) return false;
            count(a, a.text().size());
            return a.text() == b.text();
        case Kind::big_integer:
            return a.as<BigIntegerObject>().digits == b.as<BigIntegerObject>().digits;
        case Kind::sequence:
            return equal_sequences(a, b, depth);
        case Kind::map:
            count(a, 32 * (a.map().entries.size() + 1));
            return &a.map() == &b.map() || equal_maps(a.map(), b.map(), depth);
        case Kind::range:
            return equal_ranges(a.range(), b.range());
        default:
            return a.object() == b.object();
    }
}

[[noreturn]] void not_ordered(const Value& a, const Value& b, std::string_view op) {
    throw Failure(
        fmt::format("'{}' not supported between instances of '{}' and '{}'", op, type_name(a), type_name(b)));
}

// -1, 0, 1, or 2 where a NaN makes them unordered.
int compare_at(const Value& a, const Value& b, std::string_view op, int depth) {
    check_depth(depth);
    need_defined(a);
    need_defined(b);
    if (a.is_number() && b.is_number()) return compare_numbers(a, b);
    if (a.is_string() && b.is_string()) {
        count(a, std::min(a.text().size(), b.text().size()));
        const int order = a.text().compare(b.text());  // UTF-8 orders like code points
        return order < 0 ? -1 : order > 0 ? 1 : 0;
    }
    const bool sequences = a.is(Kind::sequence) && b.is(Kind::sequence);
    if (!sequences) not_ordered(a, b, op);
    const SequenceKind kind = comparable_kind(a.sequence().kind);
    if (kind != comparable_kind(b.sequence().kind) ||
        (kind != SequenceKind::list && kind != SequenceKind::tuple))
        not_ordered(a, b, op);
    count(a, 16 * std::min(a.sequence().items.size(), b.sequence().items.size()));
    const auto& x = a.sequence().items;
    const auto& y = b.sequence().items;
    for (size_t i = 0; i < x.size() && i < y.size(); i++)
        if (!equal_at(x[i], y[i], depth + 1)) return compare_at(x[i], y[i], op, depth + 1);
    return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
}

size_t hash_at(const Value& value, int depth) {
    check_depth(depth);
    switch (value.kind()) {
        case Kind::none:
            return 1;
        case Kind::boolean:
        case Kind::integer:
            return std::hash<int64_t>{}(value.as_integer());
        case Kind::real: {
            const double d = value.as_real();
            const bool whole = std::trunc(d) == d && d >= -0x1p63 && d < 0x1p63;
            return whole ? std::hash<int64_t>{}(static_cast<int64_t>(d)) : std::hash<double>{}(d);
        }
        case Kind::undefined:
            return 2;
        case Kind::string:
            count(value, value.text().size());
            return hash_of(std::string_view(value.text()));
        case Kind::big_integer:
            return hash_of(std::string_view(value.as<BigIntegerObject>().digits));
        case Kind::sequence: {
            const auto& sequence = value.sequence();
            const SequenceKind kind = comparable_kind(sequence.kind);
            if (kind == SequenceKind::generator || kind == SequenceKind::dict_values)
                return std::hash<const void*>{}(value.object());
            if (kind != SequenceKind::tuple) break;
            count(value, 16 * (sequence.items.size() + 1));
            size_t hash = 3;
            for (const Value& item : sequence.items) hash = hash * 1000003 + hash_at(item, depth + 1);
            return hash;
        }
        case Kind::map:
            break;
        case Kind::range:
            return hash_of(std::string_view("range")) + static_cast<size_t>(value.range().count);
        default:
            return std::hash<const void*>{}(value.object());
    }
    throw Failure(fmt::format("unhashable type: '{}'", type_name(value)));
}

bool is_joinable(SequenceKind kind) { return kind == SequenceKind::list || kind == SequenceKind::tuple; }

[[noreturn]] void unsupported(std::string_view op, const Value& a, const Value& b) {
    throw Failure(
        fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", op, type_name(a), type_name(b)));
}

Value add(Heap& heap, const Value& a, const Value& b) {
    if (a.is_string() && b.is_string()) {
        const bool markup = a.string_object().markup || b.string_object().markup;
        const auto part = [&](const Value& v) {
            return markup && !v.string_object().markup ? escape_html(v.text()) : v.text();
        };
        heap.check_string(a.text().size() + b.text().size());
        std::string sum = part(a);
        sum += part(b);
        return heap.string(std::move(sum), markup);
    }
    if (a.is_string())
        throw Failure(fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
    if (!a.is(Kind::sequence) || !is_joinable(a.sequence().kind)) unsupported("+", a, b);
    const SequenceKind kind = a.sequence().kind;
    if (!b.is_sequence(kind))
        throw Failure(fmt::format("can only concatenate {} (not \"{}\") to {}", type_name(a), type_name(b),
                                  type_name(a)));
    heap.check_items(a.sequence().items.size() + b.sequence().items.size());
    std::vector<Value> items;
    items.reserve(a.sequence().items.size() + b.sequence().items.size());
    items.insert(items.end(), a.sequence().items.begin(), a.sequence().items.end());
    items.insert(items.end(), b.sequence().items.begin(), b.sequence().items.end());
    return heap.sequence(kind, std::move(items));
}

// A string or list `times` over.
Value repeat(Heap& heap, const Value& what, int64_t times) {
    const auto n = static_cast<uint64_t>(std::max<int64_t>(times, 0));
    if (what.is_string()) {
        const std::string& text = what.text();
        uint64_t bytes = 0;
        if (__builtin_mul_overflow(n, text.size(), &bytes)) bytes = ~0ULL;
        heap.check_string(bytes);
        std::string out;
        out.reserve(bytes);
        for (uint64_t i = 0; i < n && bytes > 0; i++) out += text;
        return heap.string(std::move(out), what.string_object().markup);
    }
    const auto& items = what.sequence().items;
    uint64_t total = 0;
    if (__builtin_mul_overflow(n, items.size(), &total)) total = ~0ULL;
    heap.check_items(total);
    std::vector<Value> out;
    out.reserve(total);
    for (uint64_t i = 0; i < n && total > 0; i++) out.insert(out.end(), items.begin(), items.end());
    return heap.sequence(what.sequence().kind, std::move(out));
}

bool is_repeatable(const Value& v) {
    return v.is_string() || (v.is(Kind::sequence) && is_joinable(v.sequence().kind));
}

std::string_view symbol(Arithmetic op) {
    switch (op) {
        case Arithmetic::add:
            return "+";
        case Arithmetic::subtract:
            return "-";
        case Arithmetic::multiply:
            return "*";
        case Arithmetic::divide:
            return "/";
        case Arithmetic::floor_divide:
            return "//";
        case Arithmetic::modulo:
            return "%";
        case Arithmetic::power:
            return "** or pow()";
    }
    return "?";
}

void no_big_integers(const Value& a, const Value& b) {
    if (a.is(Kind::big_integer) || b.is(Kind::big_integer))
        throw Failure("computing with integers beyond 64 bits is not supported");
}

Value characters(Heap& heap, const std::string& text) {
    heap.check_items(text.size());
    heap.work_on_characters(text.size());
    std::vector<Value> items;
    items.reserve(text.size());
    for_code_points(
        text, [&](char32_t, std::string_view bytes) { return items.push_back(heap.character(bytes)), true; });
    return heap.list(std::move(items));
}

}  // namespace

bool truth(const Value& value) {
    switch (value.kind()) {
        case Kind::none:
        case Kind::undefined:
            return false;
        case Kind::boolean:
        case Kind::integer:
            return value.as_integer() != 0;
        case Kind::real:
            return value.as_real() != 0;
        case Kind::string:
            return !value.text().empty();
        case Kind::sequence:
            return value.sequence().kind == SequenceKind::generator || !value.sequence().items.empty();
        case Kind::map:
            return !value.map().entries.empty();
        case Kind::range:
            return value.range().count > 0;
        case Kind::loop:
            return !value.as<LoopObject>().items.sequence().items.empty();
        default:
            return true;
    }
}

bool equal(const Value& a, const Value& b) { return equal_at(a, b, 0); }

bool less(const Value& a, const Value& b, bool or_equal) {
    no_big_integers(a, b);
    const int order = compare_at(a, b, or_equal ? "<=" : "<", 0);
    return order == -1 || (or_equal && order == 0);
}

size_t hash_of(const Value& value) { return hash_at(value, 0); }
size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

void fail_undefined(const Value& value) { throw Failure(value.as<UndefinedObject>().message); }
void need_defined(const Value& value) {
    if (value.is_undefined()) fail_undefined(value);
}

bool contains(Heap& heap, const Value& container, const Value& item) {
    switch (container.kind()) {
        case Kind::undefined:
            return false;
        case Kind::string:
            if (!item.is_string())
                throw Failure(
                    fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
            return Search(heap, container.text(), item.text()).found();
        case Kind::map:
            return container.map().find(item) != nullptr;
        case Kind::range: {
            if (!item.is_number()) return false;
            const RangeObject& range = container.range();
            if (item.is(Kind::real) && item.as_real() != std::trunc(item.as_real())) return false;
            if (item.is(Kind::real) && std::fabs(item.as_real()) >= 0x1p62) return false;
            const int64_t number = item.is(Kind::real) ? truncate(item.as_real()) : item.as_integer();
            int64_t offset = 0;
            if (__builtin_sub_overflow(number, range.start, &offset)) return false;
            return offset % range.step == 0 && offset / range.step >= 0 && offset / range.step < range.count;
        }
        case Kind::sequence: {
            if (container.is_sequence(SequenceKind::dict_keys))
                hash_of(item);  // fails where a key could not be
            const Value items = items_of(heap, container);
            for (const Value& each : items.sequence().items) {
                heap.work(16);
                if (equal(each, item)) return true;
            }
            return false;
        }
        default:
            throw Failure(fmt::format("argument of type '{}' is not iterable", type_name(container)));
    }
}

Value arithmetic(Heap& heap, Arithmetic op, const Value& a, const Value& b) {
    if (op == Arithmetic::modulo && a.is_string()) return format_printf(heap, a, b);
    need_defined(a);
    need_defined(b);
    no_big_integers(a, b);
    if (a.is_number() && b.is_number()) return compute(op, a, b);
    if (op == Arithmetic::add) return add(heap, a, b);
    if (op == Arithmetic::multiply) {
        if (is_repeatable(a) && b.is_integral()) return repeat(heap, a, b.as_integer());
        if (is_repeatable(b) && a.is_integral()) return repeat(heap, b, a.as_integer());
    }
    unsupported(symbol(op), a, b);
}

Value sign(const Value& a, bool negative) {
    need_defined(a);
    no_big_integers(a, a);
    if (!a.is_number())
        throw Failure(fmt::format("bad operand type for unary {}: '{}'", negative ? '-' : '+', type_name(a)));
    if (negative) return negate(a);
    return a.is(Kind::boolean) ? Value::integer(a.as_integer()) : a;
}

int64_t length_of(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return 0;
        case Kind::string:
            return value.string_object().length;
        case Kind::sequence:
            if (value.sequence().kind == SequenceKind::generator) break;
            return static_cast<int64_t>(value.sequence().items.size());
        case Kind::map:
            return static_cast<int64_t>(value.map().entries.size());
        case Kind::range:
            return value.range().count;
        case Kind::loop:
            return length_of(value.as<LoopObject>().items);
        default:
            break;
    }
    throw Failure(fmt::format("object of type '{}' has no len()", type_name(value)));
}

bool is_iterable(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
        case Kind::string:
        case Kind::sequence:
        case Kind::map:
        case Kind::range:
        case Kind::loop:
            return true;
        default:
            return false;
    }
}

Value items_of(Heap& heap, const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return heap.list({});
        case Kind::string:
            return characters(heap, value.text());
        case Kind::sequence: {
            auto& sequence = value.as<SequenceObject>();
            heap.work(sequence.items.size() * sizeof(Value));  // whoever asks looks at each
            if (sequence.kind != SequenceKind::generator) return value;
            if (sequence.consumed) return heap.list({});
            sequence.consumed = true;
            return value;
        }
        case Kind::map: {
            std::vector<Value> keys;
            heap.check_items(value.map().entries.size());
            for (const auto& [key, unused] : value.map().entries) keys.push_back(key);
            return heap.list(std::move(keys));
        }
        case Kind::range: {
            std::vector<Value> numbers;
            heap.check_items(static_cast<uint64_t>(value.range().count));
            numbers.reserve(static_cast<size_t>(value.range().count));
            for (int64_t i = 0; i < value.range().count; i++)
                numbers.push_back(Value::integer(value.range().at(i)));
            return heap.list(std::move(numbers));
        }
        case Kind::loop:
            throw Failure("iterating over loop itself is not supported");
        default:
            throw Failure(fmt::format("'{}' object is not iterable", type_name(value)));
    }
}

}  // namespace ft::jinja
