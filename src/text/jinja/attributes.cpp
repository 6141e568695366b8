// Reaching into values: value[index], value.name, value[start:stop:step].
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/callables.h"
#include "text/jinja/code_points.h"
#include "text/jinja/heap.h"
#include "text/jinja/loop.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace ft::jinja {

namespace {

Value unsafe(Heap& heap, const Value& owner, std::string_view name) {
    return heap.undefined(
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", printable(name), type_name(owner)));
}

Value no_attribute(Heap& heap, const Value& owner, std::string_view name) {
    return heap.undefined(fmt::format("{} has no attribute '{}'", owner_name(owner), printable(name)));
}

std::optional<Value> loop_attribute(Heap& heap, const Value& value, std::string_view name) {
    const auto& loop = value.as<LoopObject>();
    const auto& items = loop.items.sequence().items;
    const auto n = static_cast<int64_t>(items.size());
    const int64_t i = loop.index;
    if (name == "index") return Value::integer(i + 1);
    if (name == "index0") return Value::integer(i);
    if (name == "revindex") return Value::integer(n - i);
    if (name == "revindex0") return Value::integer(n - i - 1);
    if (name == "first") return Value::boolean(i == 0);
    if (name == "last") return Value::boolean(i == n - 1);
    if (name == "length") return Value::integer(n);
    if (name == "depth") return Value::integer(loop.depth + 1);
    if (name == "depth0") return Value::integer(loop.depth);
    if (name == "previtem")
        return i > 0 ? items[static_cast<size_t>(i - 1)] : heap.undefined("there is no previous item");
    if (name == "nextitem")
        return i + 1 < n ? items[static_cast<size_t>(i + 1)] : heap.undefined("there is no next item");
    return bound_function(heap, value, name);
}

std::optional<Value> macro_attribute(Heap& heap, const MacroObject& macro, std::string_view name) {
    if (name == "name") return heap.string(macro.name());
    if (name == "arguments") {
        std::vector<Value> names;
        for (const std::string& each : macro.argument_names()) names.push_back(heap.string(each));
        return heap.tuple(std::move(names));
    }
    if (name == "catch_kwargs") return Value::boolean(macro.takes_named());
    if (name == "catch_varargs") return Value::boolean(macro.takes_more());
    if (name == "caller") return Value::boolean(macro.takes_caller());
    return std::nullopt;
}

// An attribute by Python's rule, without the keys of a map.
std::optional<Value> own_attribute(Heap& heap, const Value& value, std::string_view name) {
    if (name.starts_with("__")) return unsafe(heap, value, name);
    if (const Method* method = find_method(value, name)) {
        if (method->changes) return unsafe(heap, value, name);
        if (method->call == nullptr)
            throw Failure(fmt::format("'{}' of {} is not supported in templates", name, type_name(value)));
        return heap.make<MethodObject>(Kind::method, sizeof(MethodObject), value, method);
    }
    switch (value.kind()) {
        case Kind::name_space:
            if (name.starts_with('_')) return unsafe(heap, value, name);
            if (const Value* found = value.as<NamespaceObject>().find(name)) return *found;
            break;
        case Kind::loop:
            return loop_attribute(heap, value, name);
        case Kind::macro:
            return macro_attribute(heap, value.as<MacroObject>(), name);
        case Kind::cycler:
            if (name == "current") return value.as<CyclerObject>().items[value.as<CyclerObject>().position];
            return bound_function(heap, value, name);
        case Kind::range:
            if (name == "start") return Value::integer(value.range().start);
            if (name == "step") return Value::integer(value.range().step);
            if (name == "stop") return Value::integer(value.range().stop);
            break;
        case Kind::sequence:
            if (value.sequence().kind == SequenceKind::group && name == "grouper")
                return value.sequence().items[0];
            if (value.sequence().kind == SequenceKind::group && name == "list")
                return value.sequence().items[1];
            break;
        default:
            break;
    }
    return std::nullopt;
}

// Items by position: fixed sequences and strings. False where `index` is out of range or the value has no
// positions.
bool has_position(Heap& heap, const Value& value, int64_t index, Value& found) {
    const bool fixed = value.is(Kind::sequence) && (value.sequence().kind == SequenceKind::list ||
                                                    value.sequence().kind == SequenceKind::tuple ||
                                                    value.sequence().kind == SequenceKind::group);
    if (!fixed && !value.is_string() && !value.is(Kind::range)) return false;
    const int64_t n = length_of(value);
    if (index < 0) index += n;
    if (index < 0 || index >= n) return false;
    if (fixed) {
        found = value.sequence().items[static_cast<size_t>(index)];
    } else if (value.is(Kind::range)) {
        found = Value::integer(value.range().at(index));
    } else {
        const StringObject& string = value.string_object();
        if (!string.ascii()) heap.work(static_cast<uint64_t>(index));
        const size_t at = string.ascii() ? static_cast<size_t>(index) : byte_offset(string.text, index);
        found = heap.character(
            std::string_view(string.text).substr(at, static_cast<size_t>(utf8_size(string.text[at]))));
    }
    return true;
}

struct Bounds {
    int64_t start, stop, step, count;
};

Bounds bounds_of(int64_t n, const Value& start, const Value& stop, const Value& step) {
    const auto integer = [](const Value& v, int64_t otherwise) {
        if (v.is_none()) return otherwise;
        if (!v.is_integral())
            throw Failure("slice indices must be integers or None or have an __index__ method");
        return v.as_integer();
    };
    int64_t by = integer(step, 1);
    if (by == 0) throw Failure("slice step cannot be zero");
    by = std::max(by, -INT64_MAX);
    const int64_t lowest = by < 0 ? -1 : 0;
    const int64_t highest = by < 0 ? n - 1 : n;
    const auto place = [&](const Value& v, int64_t otherwise) {
        if (v.is_none()) return otherwise;
        const int64_t at = integer(v, 0);
        return std::clamp(at < 0 ? at + n : at, lowest, highest);
    };
    const int64_t from = place(start, by < 0 ? highest : lowest);
    const int64_t to = place(stop, by < 0 ? lowest : highest);
    const int64_t span = by > 0 ? to - from : from - to;
    const int64_t stride = by > 0 ? by : -by;
    return {from, to, by, span > 0 ? (span - 1) / stride + 1 : 0};
}

Value slice_string(Heap& heap, const Value& value, const Bounds& b) {
    const StringObject& string = value.string_object();
    heap.work(string.text.size());
    const auto offset = [&](int64_t i) {
        return string.ascii() ? static_cast<size_t>(i) : byte_offset(string.text, i);
    };
    if (b.count == 0) return heap.string("", string.markup);
    if (b.step == 1) {
        const size_t from = offset(b.start);
        return heap.string(string.text.substr(from, offset(b.start + b.count) - from), string.markup);
    }
    std::vector<std::string_view> characters;
    heap.check_items(string.text.size());
    heap.work_on_characters(string.text.size());
    for_code_points(string.text,
                    [&](char32_t, std::string_view bytes) { return characters.push_back(bytes), true; });
    std::string out;
    for (int64_t i = 0; i < b.count; i++) out += characters[static_cast<size_t>(b.start + i * b.step)];
    return heap.string(std::move(out), string.markup);
}

}  // namespace

Value get_attribute(Heap& heap, const Value& value, std::string_view name) {
    need_defined(value);
    if (std::optional<Value> found = own_attribute(heap, value, name)) return *std::move(found);
    if (value.is_map()) {
        if (const Value* entry = value.map().find(name)) return *entry;
    }
    return no_attribute(heap, value, name);
}

Value get_item(Heap& heap, const Value& value, const Value& index) {
    need_defined(value);
    Value found;
    if (value.is_map()) {
        const bool hashable = !index.is_map() && !index.is_sequence(SequenceKind::list);
        const Value* entry = hashable ? value.map().find(index) : nullptr;
        if (entry != nullptr) return *entry;
    } else if (index.is_integral() && has_position(heap, value, index.as_integer(), found)) {
        return found;
    }
    if (index.is_string()) {
        if (std::optional<Value> attribute = own_attribute(heap, value, index.text()))
            return *std::move(attribute);
        return no_attribute(heap, value, index.text());
    }
    const std::string owner = value.is_none() ? "None" : fmt::format("{} object", type_name(value));
    return heap.undefined(fmt::format("{} has no element {}", owner, printable(repr(heap, index))));
}

Value get_slice(Heap& heap, const Value& value, const Value& start, const Value& stop, const Value& step) {
    need_defined(value);
    if (value.is_map()) throw Failure("unhashable type: 'slice'");
    const bool sliceable = value.is_string() || value.is(Kind::range) ||
                           value.is_sequence(SequenceKind::list) || value.is_sequence(SequenceKind::tuple) ||
                           value.is_sequence(SequenceKind::group);
    if (!sliceable) throw Failure(fmt::format("'{}' object is not subscriptable", type_name(value)));
    const Bounds b = bounds_of(length_of(value), start, stop, step);
    if (value.is_string()) return slice_string(heap, value, b);
    if (value.is(Kind::range)) {
        const RangeObject& r = value.range();
        int64_t by = 0;
        if (__builtin_mul_overflow(r.step, b.step, &by)) by = b.step < 0 ? -1 : 1;
        return heap.make<RangeObject>(Kind::range, sizeof(RangeObject), r.at(b.start), r.at(b.stop), by,
                                      b.count);
    }
    heap.check_items(static_cast<uint64_t>(b.count));
    std::vector<Value> items;
    items.reserve(static_cast<size_t>(b.count));
    const auto& all = value.sequence().items;
    for (int64_t i = 0; i < b.count; i++) items.push_back(all[static_cast<size_t>(b.start + i * b.step)]);
    return heap.sequence(value.is_sequence(SequenceKind::list) ? SequenceKind::list : SequenceKind::tuple,
                         std::move(items));
}

}  // namespace ft::jinja
