#include "text/jinja/value.h"

#include <array>
#include <memory>

#include "base/error.h"
#include "text/jinja/code_points.h"
#include "text/jinja/heap.h"
#include "text/jinja/operators.h"

namespace ft::jinja {

Object::~Object() {
    if (heap != nullptr) heap->release(charged);
}

// A list of a list of a list … as deep as the steps allow must not unwind the stack: while one object is
// being destroyed, those that die with it wait in a chain.
void Value::destroy(Object* object) {
    thread_local Object* waiting = nullptr;
    thread_local bool busy = false;
    object->next_dead = waiting;
    waiting = object;
    if (busy) return;
    busy = true;
    while (waiting != nullptr) {
        const std::unique_ptr<Object> dead(waiting);
        waiting = dead->next_dead;
    }
    busy = false;
}

const StringObject& Value::string_object() const { return *static_cast<StringObject*>(object_); }
const std::string& Value::text() const { return string_object().text; }
const SequenceObject& Value::sequence() const { return *static_cast<SequenceObject*>(object_); }
const MapObject& Value::map() const { return *static_cast<MapObject*>(object_); }
const RangeObject& Value::range() const { return *static_cast<RangeObject*>(object_); }
bool Value::is_sequence(SequenceKind kind) const {
    return kind_ == Kind::sequence && sequence().kind == kind;
}

StringObject::StringObject(std::string t, bool is_markup)
    : text(std::move(t)), length(code_point_count(text)), markup(is_markup) {}

size_t ValueHash::operator()(const Value& v) const { return hash_of(v); }
bool ValueSame::operator()(const Value& a, const Value& b) const { return equal(a, b); }

const Value* MapObject::find(const Value& key) const {
    const size_t hash = hash_of(key);
    if (entries.size() <= k_linear) {
        for (const auto& [k, v] : entries)
            if (equal(k, key)) return &v;
        return nullptr;
    }
    for (auto [at, end] = index_.equal_range(hash); at != end; ++at)
        if (equal(entries[at->second].first, key)) return &entries[at->second].second;
    return nullptr;
}

const Value* MapObject::find(std::string_view key) const {
    const auto matches = [&](const Value& k) { return k.is_string() && k.text() == key; };
    if (entries.size() <= k_linear) {
        for (const auto& [k, v] : entries)
            if (matches(k)) return &v;
        return nullptr;
    }
    for (auto [at, end] = index_.equal_range(hash_of(key)); at != end; ++at)
        if (matches(entries[at->second].first)) return &entries[at->second].second;
    return nullptr;
}

void MapObject::set(const Value& key, Value value) {
    if (const Value* old = find(key)) {
        const_cast<Value&>(*old) = std::move(value);
        return;
    }
    entries.emplace_back(key, std::move(value));
    if (entries.size() == k_linear + 1)
        for (uint32_t i = 0; i < k_linear; i++) index_.emplace(hash_of(entries[i].first), i);
    if (entries.size() > k_linear) index_.emplace(hash_of(key), static_cast<uint32_t>(entries.size() - 1));
}

const Value* NamespaceObject::find(std::string_view name) const {
    for (const auto& [k, v] : attributes)
        if (k == name) return &v;
    return nullptr;
}

void NamespaceObject::set(std::string_view name, Value value) {
    for (auto& [k, v] : attributes)
        if (k == name) {
            v = std::move(value);
            return;
        }
    attributes.emplace_back(std::string(name), std::move(value));
}

void Heap::step(uint64_t nodes) {
    steps_ += nodes;
    if (steps_ > limits_.nodes)
        throw Failure(fmt::format("the template needs more than {} steps", limits_.nodes));
}

void Heap::work(uint64_t bytes) {
    worked_ += bytes;
    if (worked_ > limits_.work_bytes)
        throw Failure(
            fmt::format("the template works on more than {} bytes of text and lists", limits_.work_bytes));
}

void Heap::check_string(uint64_t bytes) {
    if (bytes > limits_.string_bytes)
        throw Failure(fmt::format("a string would get longer than {} bytes", limits_.string_bytes));
}

void Heap::check_items(uint64_t count) {
    if (count > limits_.memory_bytes / sizeof(Value))
        throw Failure(fmt::format("a list of {} values is larger than the memory a template may use", count));
    work(count * sizeof(Value));
}

void Heap::charge(uint64_t bytes) {
    if (bytes > limits_.memory_bytes || alive_ + bytes > limits_.memory_bytes)
        throw Failure(
            fmt::format("the template's values need more than {} bytes of memory", limits_.memory_bytes));
    alive_ += bytes;
}

Value Heap::string(std::string text, bool markup) {
    check_string(text.size());
    work(text.size());
    const uint64_t bytes = sizeof(StringObject) + (text.size() > 15 ? text.capacity() : 0);
    return make<StringObject>(Kind::string, bytes, std::move(text), markup);
}

Value Heap::character(std::string_view code_point) {
    static const auto ascii = [] {
        std::array<std::unique_ptr<StringObject>, 128> table;
        for (size_t i = 0; i < table.size(); i++) {
            table[i] = std::make_unique<StringObject>(std::string(1, static_cast<char>(i)), false);
            table[i]->refs = Object::k_immortal;
        }
        return table;
    }();
    if (code_point.size() == 1 && static_cast<unsigned char>(code_point[0]) < 128)
        return Value(Kind::string, ascii[static_cast<size_t>(code_point[0])].get());
    return string(std::string(code_point));
}

Value Heap::sequence(SequenceKind kind, std::vector<Value> items) {
    work(items.size() * sizeof(Value));
    const uint64_t bytes = sizeof(SequenceObject) + items.capacity() * sizeof(Value);
    return make<SequenceObject>(Kind::sequence, bytes, kind, std::move(items));
}

Value Heap::map(std::vector<std::pair<Value, Value>> entries) {
    constexpr uint64_t k_entry = sizeof(std::pair<Value, Value>) + 64;  // with its place in the index
    work(entries.size() * k_entry);
    Value map = make<MapObject>(Kind::map, sizeof(MapObject) + entries.size() * k_entry);
    auto& object = map.as<MapObject>();
    object.entries.reserve(entries.size());
    for (auto& [key, value] : entries) object.set(key, std::move(value));
    return map;
}

Value Heap::undefined(std::string message) {
    const uint64_t bytes = sizeof(UndefinedObject) + message.size();
    return make<UndefinedObject>(Kind::undefined, bytes, std::move(message));
}

namespace {

std::string_view sequence_name(SequenceKind kind) {
    switch (kind) {
        case SequenceKind::list:
            return "list";
        case SequenceKind::tuple:
        case SequenceKind::group:
            return "tuple";
        case SequenceKind::dict_keys:
            return "dict_keys";
        case SequenceKind::dict_values:
            return "dict_values";
        case SequenceKind::dict_items:
            return "dict_items";
        case SequenceKind::generator:
            return "generator";
    }
    return "list";
}

}  // namespace

std::string_view type_name(const Value& value) {
    switch (value.kind()) {
        case Kind::none:
            return "NoneType";
        case Kind::boolean:
            return "bool";
        case Kind::integer:
        case Kind::big_integer:
            return "int";
        case Kind::real:
            return "float";
        case Kind::undefined:
            return "Undefined";
        case Kind::string:
            return "str";
        case Kind::sequence:
            return sequence_name(value.sequence().kind);
        case Kind::map:
            return "dict";
        case Kind::range:
            return "range";
        case Kind::name_space:
            return "Namespace";
        case Kind::loop:
            return "LoopContext";
        case Kind::macro:
            return "Macro";
        case Kind::method:
            return "method";
        case Kind::function:
            return "function";
        case Kind::cycler:
            return "Cycler";
        case Kind::joiner:
            return "Joiner";
    }
    return "object";
}

std::string owner_name(const Value& value) {
    return value.is_none() ? "'None'" : fmt::format("'{} object'", type_name(value));
}

}  // namespace ft::jinja
