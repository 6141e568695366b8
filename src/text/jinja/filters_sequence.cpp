// Filters on lists, maps and other iterables. Those that Python computes lazily give a generator: it can be
// iterated once and has no length; here its items are computed at once.
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "text/jinja/code_points.h"
#include "text/jinja/filter_tables.h"
#include "text/jinja/heap.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"
#include "text/jinja/tests.h"

namespace ft::jinja {

namespace {

Value generator(Heap& heap, std::vector<Value> items) {
    return heap.sequence(SequenceKind::generator, std::move(items));
}

// The attribute that a filter is asked to look at: 'a.b.0' is three steps; an integer is an index; none is
// the item.
class AttributePath {
 public:
    AttributePath(Heap& heap, const Value& attribute) : heap_(heap) {
        if (attribute.is_none()) return;
        if (!attribute.is_string()) {
            steps_.push_back(attribute);
            return;
        }
        std::string_view rest = attribute.text();
        for (bool more = true; more;) {
            const size_t dot = rest.find('.');
            more = dot != std::string_view::npos;
            const std::string step(rest.substr(0, dot));
            rest = more ? rest.substr(dot + 1) : "";
            const auto number = is_digit(step) ? parse_integer(step, 10) : std::nullopt;
            steps_.push_back(number ? Value::integer(*number) : heap.string(step));
        }
    }

    Value of(Value item, const Value* otherwise = nullptr) const {
        for (const Value& step : steps_) {
            heap_.step();
            item = get_item(heap_, item, step);
            if (otherwise != nullptr && item.is_undefined()) item = *otherwise;
        }
        return item;
    }

 private:
    Heap& heap_;
    std::vector<Value> steps_;
};

Value without_case(Heap& heap, const Value& value, bool case_sensitive) {
    if (case_sensitive || !value.is_string()) return value;
    heap.work_on_characters(value.text().size());
    return heap.string(lower(value.text()));
}

// Sorts by key, keeping the order of equal ones, also in reverse.
std::vector<Value> sorted_by(Heap& heap, std::vector<std::pair<Value, Value>> keyed, bool reverse) {
    heap.work(keyed.size() * 64);
    const auto before = [&](const auto& a, const auto& b) {
        heap.work(16);
        return reverse ? less(b.first, a.first) : less(a.first, b.first);
    };
    std::stable_sort(keyed.begin(), keyed.end(), before);
    std::vector<Value> out;
    out.reserve(keyed.size());
    for (auto& [key, value] : keyed) out.push_back(std::move(value));
    return out;
}

Value sort(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("sort", given, {"reverse", "case_sensitive", "attribute"});
    std::vector<AttributePath> paths;  // 'a,b' sorts by a, then by b
    if (p.has_value(2) && p[2].is_string()) {
        std::string_view rest = p[2].text();
        for (size_t comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
            paths.emplace_back(heap, heap.string(std::string(rest.substr(0, comma))));
            rest = rest.substr(comma + 1);
        }
        paths.emplace_back(heap, heap.string(std::string(rest)));
    } else {
        paths.emplace_back(heap, p.or_else(2, Value()));
    }
    const Value items = items_of(heap, value);
    heap.check_items(4 * items.sequence().items.size());
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& item : items.sequence().items) {
        std::vector<Value> keys;
        for (const AttributePath& path : paths) keys.push_back(without_case(heap, path.of(item), p.flag(1)));
        keyed.emplace_back(heap.list(std::move(keys)), item);  // lists: equal keys need no order
    }
    return heap.list(sorted_by(heap, std::move(keyed), p.flag(0)));
}

Value dict_sort(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("dictsort", given, {"case_sensitive", "by", "reverse"});
    const std::string by = p.has(1) ? p.text(1) : "key";
    if (by != "key" && by != "value") throw Failure("You can only sort by either \"key\" or \"value\"");
    need_defined(value);
    if (!value.is_map()) throw Failure(fmt::format("dictsort needs a dict, not {}", type_name(value)));
    heap.check_items(4 * value.map().entries.size());
    std::vector<std::pair<Value, Value>> keyed;
    for (const auto& [key, item] : value.map().entries)
        keyed.emplace_back(without_case(heap, by == "key" ? key : item, p.flag(0)), heap.tuple({key, item}));
    return heap.list(sorted_by(heap, std::move(keyed), p.flag(2)));
}

Value unique(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("unique", given, {"case_sensitive", "attribute"});
    const AttributePath path(heap, p.or_else(1, Value()));
    const Value items = items_of(heap, value);
    std::unordered_set<Value, ValueHash, ValueSame> seen;
    std::vector<Value> kept;
    heap.check_items(6 * items.sequence().items.size());
    for (const Value& item : items.sequence().items)
        if (seen.insert(without_case(heap, path.of(item), p.flag(0))).second) kept.push_back(item);
    return generator(heap, std::move(kept));
}

Value group_by(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("groupby", given, {"attribute", "default", "case_sensitive"}, 1);
    const AttributePath path(heap, p[0]);
    const Value* otherwise = p.has_value(1) ? &p[1] : nullptr;
    const auto key_of = [&](const Value& item) {
        return without_case(heap, path.of(item, otherwise), p.flag(2));
    };
    const Value items = items_of(heap, value);
    heap.check_items(4 * items.sequence().items.size());
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& item : items.sequence().items) keyed.emplace_back(key_of(item), item);
    const std::vector<Value> ordered = sorted_by(heap, std::move(keyed), false);
    std::vector<Value> groups;
    for (size_t at = 0; at < ordered.size();) {
        const Value key = key_of(ordered[at]);
        std::vector<Value> members;
        const Value shown = path.of(ordered[at], otherwise);
        while (at < ordered.size() && equal(key_of(ordered[at]), key)) members.push_back(ordered[at++]);
        groups.push_back(heap.sequence(SequenceKind::group, {shown, heap.list(std::move(members))}));
    }
    return heap.list(std::move(groups));
}

// map and select take anything that is false for nothing.
Value items_if_any(Heap& heap, const Value& value) {
    Value items = truth(value) ? items_of(heap, value) : heap.list({});
    heap.check_items(items.sequence().items.size());
    return items;
}

Value map(Heap& heap, const Value& value, const Arguments& given) {
    std::vector<Value> out;
    if (given.positional.empty()) {
        const Parameters p("map", given, {"attribute", "default"}, 1);
        const AttributePath path(heap, p[0]);
        const Value* otherwise = p.has_value(1) ? &p[1] : nullptr;
        const Value items = items_if_any(heap, value);
        for (const Value& item : items.sequence().items) out.push_back(path.of(item, otherwise));
        return generator(heap, std::move(out));
    }
    if (!given.positional[0].is_string()) throw Failure("map needs the name of a filter");
    const Filter* filter = find_filter(given.positional[0].text());
    if (filter == nullptr) throw Failure(unknown_filter(given.positional[0].text()));
    const Arguments rest{{given.positional.begin() + 1, given.positional.end()}, given.named};
    const Value items = items_if_any(heap, value);
    for (const Value& item : items.sequence().items) {
        heap.step();
        out.push_back(filter->call(heap, item, rest));
    }
    return generator(heap, std::move(out));
}

// select, reject, selectattr, rejectattr: items for which the test holds (or the value is true), or does not.
template <bool keep, bool by_attribute>
Value chosen(Heap& heap, const Value& value, const Arguments& given) {
    const size_t skip = by_attribute ? 1 : 0;
    if (given.positional.size() < skip) throw Failure("Missing parameter for attribute name");
    const AttributePath path(heap, by_attribute ? given.positional[0] : Value());
    const Test* test = nullptr;
    Arguments rest;
    if (given.positional.size() > skip) {
        const Value& name = given.positional[skip];
        if (name.is_string()) test = find_test(name.text());
        if (test == nullptr) throw Failure(unknown_test(text_of(heap, name)));
        rest = {{given.positional.begin() + static_cast<std::ptrdiff_t>(skip) + 1, given.positional.end()},
                given.named};
    }
    const Value items = items_if_any(heap, value);
    std::vector<Value> out;
    for (const Value& item : items.sequence().items) {
        heap.step();
        const Value looked_at = path.of(item);
        const bool holds = test != nullptr ? test->holds(heap, looked_at, rest) : truth(looked_at);
        if (holds == keep) out.push_back(item);
    }
    return generator(heap, std::move(out));
}

Value join(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("join", given, {"d", "attribute"});
    const std::string separator = p.has(0) ? text_of(heap, p[0]) : "";
    const AttributePath path(heap, p.or_else(1, Value()));
    const Value items = items_of(heap, value);
    std::string out;
    bool first = true;
    for (const Value& item : items.sequence().items) {
        heap.work(16);
        if (!first) out += separator;
        first = false;
        heap.check_string(out.size());
        const Value part = path.of(item);
        append_text(heap, out, part);
    }
    return heap.string(std::move(out));
}

Value length(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("length", given, {});
    (void)heap;
    return Value::integer(length_of(value));
}

Value first(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("first", given, {});
    if (value.is_string() && !value.text().empty()) return get_item(heap, value, Value::integer(0));
    const Value items = items_of(heap, value);
    if (items.sequence().items.empty()) return heap.undefined("No first item, sequence was empty.");
    return items.sequence().items.front();
}

Value last(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("last", given, {});
    if (value.is_string() && !value.text().empty()) return get_item(heap, value, Value::integer(-1));
    if (value.is_sequence(SequenceKind::generator)) throw Failure("'generator' object is not reversible");
    const Value items = items_of(heap, value);
    if (items.sequence().items.empty()) return heap.undefined("No last item, sequence was empty.");
    return items.sequence().items.back();
}

Value as_list(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("list", given, {});
    const Value items = items_of(heap, value);
    if (items.is_sequence(SequenceKind::list)) return items;
    return heap.list(items.sequence().items);
}

Value reverse(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("reverse", given, {});
    if (value.is_string()) return get_slice(heap, value, Value(), Value(), Value::integer(-1));
    const Value items = items_of(heap, value);
    std::vector<Value> out = items.sequence().items;
    std::reverse(out.begin(), out.end());
    // Of a generator Python makes a list, of the others an iterator.
    return value.is_sequence(SequenceKind::generator) ? heap.list(std::move(out))
                                                      : generator(heap, std::move(out));
}

Value items_filter(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters none("items", given, {});
    std::vector<Value> out;
    if (value.is_undefined()) return generator(heap, {});
    if (!value.is_map()) throw Failure("Can only get item pairs from a mapping.");
    heap.check_items(value.map().entries.size());
    for (const auto& [key, item] : value.map().entries) out.push_back(heap.tuple({key, item}));
    return generator(heap, std::move(out));
}

Value otherwise(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("default", given, {"default_value", "boolean"});
    const bool replaced = value.is_undefined() || (p.flag(1) && !truth(value));
    if (!replaced) return value;
    return p.has(0) ? p[0] : heap.string("");
}

template <bool largest>
Value extreme(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p(largest ? "max" : "min", given, {"case_sensitive", "attribute"});
    const AttributePath path(heap, p.or_else(1, Value()));
    const Value items = items_of(heap, value);
    if (items.sequence().items.empty()) return heap.undefined("No aggregated item, sequence was empty.");
    const Value* best = nullptr;
    Value best_key;
    for (const Value& item : items.sequence().items) {
        const Value key = without_case(heap, path.of(item), p.flag(0));
        if (best != nullptr && !(largest ? less(best_key, key) : less(key, best_key))) continue;
        best = &item;
        best_key = key;
    }
    return *best;
}

Value sum(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("sum", given, {"attribute", "start"});
    const AttributePath path(heap, p.or_else(0, Value()));
    Value total = p.or_else(1, Value::integer(0));
    if (total.is_string()) throw Failure("sum() can't sum strings [use ''.join(seq) instead]");
    const Value items = items_of(heap, value);
    for (const Value& item : items.sequence().items)
        total = arithmetic(heap, Arithmetic::add, total, path.of(item));
    return total;
}

Value slices(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("slice", given, {"slices", "fill_with"}, 1);
    const int64_t n = p.integer(0, 1);
    const Value items = items_of(heap, value);
    const auto& all = items.sequence().items;
    if (n == 0) throw Failure("integer division or modulo by zero");
    heap.check_items(static_cast<uint64_t>(std::max<int64_t>(n, 0)) * 8);
    const auto size = static_cast<int64_t>(all.size());
    std::vector<Value> out;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const bool extra = i < size % n;
        const int64_t end = at + size / n + (extra ? 1 : 0);
        std::vector<Value> part(all.begin() + at, all.begin() + end);
        if (p.has_value(1) && !extra) part.push_back(p[1]);
        out.push_back(heap.list(std::move(part)));
        at = end;
    }
    return generator(heap, std::move(out));
}

Value batches(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("batch", given, {"linecount", "fill_with"}, 1);
    const int64_t n = p.integer(0, 1);
    if (n < 1) throw Failure("batch needs a positive number of items");
    const Value items = items_of(heap, value);
    const auto& all = items.sequence().items;
    std::vector<Value> out;
    for (size_t at = 0; at < all.size();) {
        const size_t end =
            all.size() - at > static_cast<size_t>(n) ? at + static_cast<size_t>(n) : all.size();
        std::vector<Value> part(all.begin() + static_cast<std::ptrdiff_t>(at),
                                all.begin() + static_cast<std::ptrdiff_t>(end));
        if (p.has_value(1) && part.size() < static_cast<size_t>(n)) {
            heap.check_items(static_cast<uint64_t>(n));
            part.resize(static_cast<size_t>(n), p[1]);
        }
        out.push_back(heap.list(std::move(part)));
        at = end;
    }
    return generator(heap, std::move(out));
}

Value attribute(Heap& heap, const Value& value, const Arguments& given) {
    const Parameters p("attr", given, {"name"}, 1);
    need_defined(value);
    if (value.is_map() && find_method(value, p.text(0)) == nullptr &&
        value.map().find(std::string_view(p.text(0))) != nullptr)
        return heap.undefined(
            fmt::format("'dict object' has no attribute '{}'", printable(p.text(0))));  // keys are none
    return get_attribute(heap, value, p.text(0));
}

constexpr Filter k_sequence_filters[] = {
    {"attr", &attribute},
    {"batch", &batches},
    {"count", &length},
    {"d", &otherwise},
    {"default", &otherwise},
    {"dictsort", &dict_sort},
    {"first", &first},
    {"groupby", &group_by},
    {"items", &items_filter},
    {"join", &join},
    {"last", &last},
    {"length", &length},
    {"list", &as_list},
    {"map", &map},
    {"max", &extreme<true>},
    {"min", &extreme<false>},
    {"reject", &chosen<false, false>},
    {"rejectattr", &chosen<false, true>},
    {"reverse", &reverse},
    {"select", &chosen<true, false>},
    {"selectattr", &chosen<true, true>},
    {"slice", &slices},
    {"sort", &sort},
    {"sum", &sum},
    {"unique", &unique},
};

}  // namespace

std::span<const Filter> sequence_filters() { return k_sequence_filters; }

}  // namespace ft::jinja
