#include "text/go/value.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/go/fields.h"

namespace ft::go {

namespace {

using jinja::Failure;

const Json k_empty_map = Json::object();
const Json k_empty_list = Json::array();

const Json* find_key(Run& run, const Json& map, std::string_view key) {
    if (!map.is_object()) return nullptr;
    run.heap().step(1 + map.size() / 8);
    const auto at = map.find(key);
    return at == map.end() ? nullptr : &*at;
}

// What a field holds that the JSON does not have: Go's zero of its type.
Value zero_of(const FieldRow& row) {
    switch (row.zero) {
        case Kind::text:
            return Value::of_text("");
        case Kind::list:
            return value_of(k_empty_list, row.type);
        case Kind::map:
            return value_of(k_empty_map, row.type);
        case Kind::integer:
            return Value::number(0);
        default:
            return {.kind = row.zero};
    }
}

// Whether a field has what the JSON says: null counts as absent, but where the field may hold anything.
bool suits(const Json& json, const FieldRow& row) {
    if (json.is_null()) return row.zero == Kind::nil;
    if (row.zero == Kind::list) return json.is_array();
    return true;
}

}  // namespace

Value Run::text(std::string text) {
    heap_.check_string(text.size());
    heap_.charge(sizeof(std::string) + text.size());
    heap_.work(text.size());
    texts_.push_back(std::move(text));
    return Value::of_text(texts_.back());
}

Value value_of(const Json& json, Type type) {
    switch (json.type()) {
        case Json::value_t::null:
            return {.kind = Kind::nil};
        case Json::value_t::boolean:
            return Value::boolean(json.get<bool>());
        case Json::value_t::number_integer:
        case Json::value_t::number_unsigned:
        case Json::value_t::number_float:
            return {.kind = Kind::real, .real = json.get<double>()};
        case Json::value_t::string:
            return Value::of_text(json.get_ref<const std::string&>());
        case Json::value_t::array:
            return {.kind = Kind::list, .type = type, .json = &json, .end = json.size()};
        case Json::value_t::object:
            return {.kind = Kind::map, .type = type, .json = &json};
        default:
            return {};
    }
}

std::string_view kind_name(const Value& value) {
    switch (value.kind) {
        case Kind::missing:
            return "nothing";
        case Kind::nil:
            return "nil";
        case Kind::boolean:
            return "a truth value";
        case Kind::integer:
        case Kind::real:
            return "a number";
        case Kind::text:
            return "a text";
        default:
            return type_name(value.type, value.kind == Kind::list);
    }
}

Value field_of(Run& run, const Value& value, std::string_view name) {
    if (value.kind == Kind::missing) return {};
    const auto fail = [&] {
        throw Failure(fmt::format("{} has no field .{}", kind_name(value), printable(std::string(name), 60)));
    };
    if (value.kind != Kind::map) fail();
    if (!is_struct(value.type)) return entry_of(run, value, name);
    const FieldRow* row = find_field(value.type, name);
    if (!row) fail();
    const Json* found = find_key(run, *value.json, row->key);
    return found && suits(*found, *row) ? value_of(*found, row->type) : zero_of(*row);
}

bool truth(const Value& value) {
    switch (value.kind) {
        case Kind::missing:
        case Kind::nil:
            return false;
        case Kind::boolean:
        case Kind::integer:
            return value.integer != 0;
        case Kind::real:
            return value.real != 0;
        case Kind::text:
            return !value.text.empty();
        case Kind::list:
            return value.end > value.begin;
        case Kind::map:
            return is_struct(value.type) || !value.json->empty();
    }
    return false;
}

int64_t length_of(const Value& value) {
    if (value.kind == Kind::text) return static_cast<int64_t>(value.text.size());
    if (value.kind == Kind::list) return static_cast<int64_t>(value.end - value.begin);
    if (value.kind == Kind::map && !is_struct(value.type)) return static_cast<int64_t>(value.json->size());
    throw Failure(fmt::format("{} has no length", kind_name(value)));
}

Value item_of(const Value& list, size_t i) {
    return value_of((*list.json)[list.begin + i], item_type(list.type));
}

std::vector<std::pair<std::string_view, Value>> entries_of(Run& run, const Value& map) {
    run.heap().step(1 + 2 * map.json->size());
    std::vector<std::pair<std::string_view, Value>> entries;
    entries.reserve(map.json->size());
    const Type type = map.type == Type::root ? Type::any : item_type(map.type);
    for (const auto& [key, item] : map.json->items())
        entries.emplace_back(std::string_view(key), value_of(item, type));
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return entries;
}

Value entry_of(Run& run, const Value& map, std::string_view key) {
    const Json* found = find_key(run, *map.json, key);
    if (!found) return {};
    return value_of(*found, map.type == Type::root ? root_type(key) : item_type(map.type));
}

}  // namespace ft::go
