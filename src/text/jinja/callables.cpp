#include "text/jinja/callables.h"

#include <span>

#include "base/error.h"
#include "text/jinja/ast.h"
#include "text/jinja/heap.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"
#include "text/jinja/show.h"

namespace ft::jinja {

namespace {

Value range(Environment& environment, const Value&, const Arguments& given) {
    const size_t n = given.positional.size();
    if (!given.named.empty()) throw Failure("range() takes no keyword arguments");
    if (n < 1) throw Failure("range expected at least 1 argument, got 0");
    if (n > 3) throw Failure(fmt::format("range expected at most 3 arguments, got {}", n));
    int64_t bounds[3] = {0, 0, 1};
    for (size_t i = 0; i < n; i++) {
        const Value& value = given.positional[i];
        need_defined(value);
        if (!value.is_integral())
            throw Failure(fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
        bounds[n == 1 ? 1 : i] = value.as_integer();
    }
    const auto [start, stop, step] = bounds;
    if (step == 0) throw Failure("range() arg 3 must not be zero");
    __int128 span = step > 0 ? static_cast<__int128>(stop) - start : static_cast<__int128>(start) - stop;
    const __int128 stride = step > 0 ? static_cast<__int128>(step) : -static_cast<__int128>(step);
    if (span < 0) span = 0;
    const __int128 count = (span + stride - 1) / stride;
    if (count > environment.heap.limits().range_items)
        throw Failure(fmt::format("range is larger than {} elements", environment.heap.limits().range_items));
    return environment.heap.make<RangeObject>(Kind::range, sizeof(RangeObject), start, stop, step,
                                              static_cast<int64_t>(count));
}

using Entries = std::vector<std::pair<Value, Value>>;

// What dict(...) collects: a map or a list of pairs, then the named arguments.
Entries collect(Heap& heap, const Arguments& given) {
    Entries entries;
    if (given.positional.size() > 1)
        throw Failure(fmt::format("dict expected at most 1 argument, got {}", given.positional.size()));
    if (!given.positional.empty()) {
        const Value& from = given.positional[0];
        if (from.is_map()) {
            heap.check_items(2 * from.map().entries.size());
            entries = from.map().entries;
        } else {
            const Value items = items_of(heap, from);
            for (const Value& item : items.sequence().items) {
                const Value pair = items_of(heap, item);
                if (pair.sequence().items.size() != 2) throw Failure("dict() needs pairs of key and value");
                entries.emplace_back(pair.sequence().items[0], pair.sequence().items[1]);
            }
        }
    }
    for (const auto& [name, value] : given.named) entries.emplace_back(heap.string(name), value);
    return entries;
}

Value dict(Environment& environment, const Value&, const Arguments& given) {
    return environment.heap.map(collect(environment.heap, given));
}

Value name_space(Environment& environment, const Value&, const Arguments& given) {
    Value made = environment.heap.make<NamespaceObject>(Kind::name_space, sizeof(NamespaceObject) + 256);
    for (auto& [key, value] : collect(environment.heap, given)) {
        if (!key.is_string()) throw Failure("the names in a namespace are strings");
        made.as<NamespaceObject>().set(key.text(), value);
    }
    environment.may_hold_itself.push_back(made);
    return made;
}

Value cycler(Environment& environment, const Value&, const Arguments& given) {
    if (given.positional.empty() || !given.named.empty()) throw Failure("cycler() needs at least one item");
    Value made = environment.heap.make<CyclerObject>(Kind::cycler,
                                                     sizeof(CyclerObject) + 16 * given.positional.size());
    made.as<CyclerObject>().items = given.positional;
    return made;
}

Value joiner(Environment& environment, const Value&, const Arguments& given) {
    const Parameters p("joiner", given, {"sep"});
    Value separator = p.has(0) ? p[0] : environment.heap.string(", ");
    return environment.heap.make<JoinerObject>(Kind::joiner, sizeof(JoinerObject), std::move(separator));
}

Value raise_exception(Environment& environment, const Value&, const Arguments& given) {
    const Parameters p("raise_exception", given, {"message"}, 1);
    throw Failure(to_text(environment.heap, p[0]));
}

Value strftime_now(Environment& environment, const Value&, const Arguments& given) {
    const Parameters p("strftime_now", given, {"format"}, 1);
    const LocalTime now = environment.now ? *environment.now : local_time_now();
    return environment.heap.string(format_time(environment.heap, p.text(0), now));
}

Value lipsum(Environment&, const Value&, const Arguments&) {
    throw Failure("lipsum() is not supported in templates");
}

Value loop_cycle(Environment&, const Value& self, const Arguments& given) {
    if (given.positional.empty() || !given.named.empty()) throw Failure("no items for cycling given");
    const auto n = static_cast<int64_t>(given.positional.size());
    return given.positional[static_cast<size_t>(self.as<LoopObject>().index % n)];
}

Value loop_changed(Environment& environment, const Value& self, const Arguments& given) {
    auto& loop = self.as<LoopObject>();
    Value now = environment.heap.tuple(given.positional);
    const bool changed = !loop.changed_called || !equal(loop.last_changed, now);
    if (!loop.changed_called) environment.may_hold_itself.push_back(self);
    loop.changed_called = true;
    loop.last_changed = std::move(now);
    return Value::boolean(changed);
}

Value cycler_next(Environment&, const Value& self, const Arguments& given) {
    const Parameters none("next", given, {});
    auto& cycler = self.as<CyclerObject>();
    Value item = cycler.items[cycler.position];
    cycler.position = (cycler.position + 1) % cycler.items.size();
    return item;
}

Value cycler_reset(Environment&, const Value& self, const Arguments& given) {
    const Parameters none("reset", given, {});
    self.as<CyclerObject>().position = 0;
    return Value();
}

constexpr Function k_globals[] = {
    {"range", &range},   {"namespace", &name_space},
    {"dict", &dict},     {"cycler", &cycler},
    {"joiner", &joiner}, {"raise_exception", &raise_exception},
    {"lipsum", &lipsum}, {"strftime_now", &strftime_now},
};
constexpr Function k_loop_functions[] = {{"cycle", &loop_cycle}, {"changed", &loop_changed}};
constexpr Function k_cycler_functions[] = {{"next", &cycler_next}, {"reset", &cycler_reset}};

std::optional<Value> find(Heap& heap, std::span<const Function> functions, const Value& self,
                          std::string_view name) {
    for (const Function& function : functions)
        if (function.name == name)
            return heap.make<FunctionObject>(Kind::function, sizeof(FunctionObject), &function, self);
    return std::nullopt;
}

}  // namespace

std::optional<Value> global_function(Heap& heap, std::string_view name) {
    return find(heap, k_globals, Value(), name);
}

std::optional<Value> bound_function(Heap& heap, const Value& self, std::string_view name) {
    if (self.is(Kind::loop)) return find(heap, k_loop_functions, self, name);
    return find(heap, k_cycler_functions, self, name);
}

const std::string& MacroObject::name() const { return macro->name; }
bool MacroObject::takes_named() const { return macro->uses_kwargs; }
bool MacroObject::takes_more() const { return macro->uses_varargs; }
bool MacroObject::takes_caller() const { return macro->uses_caller; }

std::vector<std::string> MacroObject::argument_names() const {
    std::vector<std::string> names;
    for (const Parameter& parameter : macro->parameters) names.push_back(parameter.name);
    return names;
}

}  // namespace ft::jinja
