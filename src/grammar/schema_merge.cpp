#include "grammar/schema_merge.h"

#include <algorithm>
#include <charconv>

namespace ft::grammar {

namespace {

constexpr int k_most_merges = 500;
constexpr int k_deepest_merge = 32;

// One step of a pointer, with ~1 and ~0 read.
std::string step_name(std::string_view step) {
    std::string name;
    for (size_t i = 0; i < step.size(); i++) {
        const bool escaped =
            step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1');
        name += escaped ? (step[++i] == '0' ? '~' : '/') : step[i];
    }
    return name;
}

Json list_of(const Json& value) { return value.is_array() ? value : Json::array({value}); }

bool is_in(const Json& list, const Json& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

// What is in both; "integer" is a part of "number".
Json common_types(const Json& a, const Json& b) {
    Json both = Json::array();
    const auto add = [&](const Json& type, const Json& other) {
        if (!is_in(both, type) && (is_in(other, type) || (type == "integer" && is_in(other, "number"))))
            both.push_back(type);
    };
    for (const Json& type : list_of(a)) add(type, list_of(b));
    for (const Json& type : list_of(b)) add(type, list_of(a));
    return both;
}

Json both_schemas(const Json& a, const Json& b) {
    if (a == false || b == false) return false;
    if (a == true || a == b) return b;
    if (b == true) return a;
    Json both = Json::object();
    both["allOf"] = Json::array({a, b});
    return both;
}

void add_properties(Json& to, const Json& more) {
    for (const auto& [name, schema] : more.items()) {
        const auto found = to.find(name);
        if (found == to.end()) to[name] = schema;
        else *found = both_schemas(*found, schema);
    }
}

Json tighter(const std::string& name, const Json& a, const Json& b) {
    const bool is_least = name.starts_with("min") || name == "exclusiveMinimum";
    return (is_least ? a < b : b < a) ? b : a;
}

bool is_bound(const std::string& name) {
    return name.starts_with("min") || name.starts_with("max") || name.starts_with("exclusive");
}

}  // namespace

const Json* SchemaMerger::target_of(const std::string& pointer) const {
    if (!pointer.starts_with('#')) return nullptr;
    const Json* at = &root_;
    std::string_view rest = std::string_view(pointer).substr(1);
    while (!rest.empty()) {
        if (rest[0] != '/') return nullptr;
        const size_t end = std::min(rest.find('/', 1), rest.size());
        const std::string name = step_name(rest.substr(1, end - 1));
        rest.remove_prefix(end);
        size_t index = 0;
        if (at->is_object() && at->contains(name)) {
            at = &at->at(name);
        } else if (at->is_array() &&
                   std::from_chars(name.data(), name.data() + name.size(), index).ec == std::errc() &&
                   index < at->size()) {
            at = &(*at)[index];
        } else {
            return nullptr;
        }
    }
    return at;
}

Expected<Json> SchemaMerger::flat(const Json& schema, const std::string& place) {
    return flat_at(schema, place, 0);
}

Expected<Json> SchemaMerger::flat_at(const Json& schema, const std::string& place, int depth) {
    if (depth > k_deepest_merge)
        return schema_error(place, "$ref and allOf lead on more than 32 times",
                            "Write it with fewer of them.");
    if (schema == true) return Json::object();
    if (schema == false) return schema_error(place, "false allows no value");
    if (!schema.is_object())
        return schema_error(place, fmt::format("{} is no schema", printable(json_text_of(schema))));
    if (Status known = check_keywords(schema, place); !known) return known.error();
    Json own = Json::object();
    for (const auto& [name, value] : schema.items())
        if (!is_description(name) && name != "$ref" && name != "allOf") own[name] = value;
    const auto join = [&](const Json& part, const std::string& its_place) -> Status {
        const Expected<Json> flat_part = flat_at(part, its_place, depth + 1);
        if (!flat_part) return flat_part.error();
        Expected<Json> joined = merged(*flat_part, own, place);
        if (!joined) return joined.error();
        own = std::move(*joined);
        return {};
    };
    if (const Json* reference = find(schema, "$ref")) {
        const std::string pointer = reference->get<std::string>();
        const Json* target = target_of(pointer);
        if (!target)
            return schema_error(place, fmt::format("$ref \"{}\" leads nowhere", printable(pointer)),
                                "It takes a place in the same schema, such as #/$defs/name.");
        if (Status joined = join(*target, pointer); !joined) return joined.error();
    }
    if (const Json* parts = find(schema, "allOf"))
        for (size_t i = parts->size(); i > 0; i--)
            if (Status joined = join((*parts)[i - 1], fmt::format("{}/allOf/{}", place, i - 1)); !joined)
                return joined.error();
    return own;
}

Expected<Json> SchemaMerger::merged(const Json& a, const Json& b, const std::string& place) {
    if (++n_merges_ > k_most_merges)
        return schema_error(
            place, fmt::format("more than {} schemas are joined by allOf, anyOf or $ref", k_most_merges),
            "Write it with fewer of them.");
    Json out = a;
    for (const auto& [name, value] : b.items())
        if (Status added = add(out, name, value, place); !added) return added.error();
    return out;
}

Status SchemaMerger::add(Json& to, const std::string& name, const Json& value, const std::string& place) {
    if (is_description(name)) return {};
    const auto found = to.find(name);
    if (found == to.end()) {
        to[name] = value;
        return {};
    }
    Json& own = *found;
    if (own == value) return {};
    if (name == "properties") {
        add_properties(own, value);
    } else if (name == "required") {
        for (const Json& key : value)
            if (!is_in(own, key)) own.push_back(key);
    } else if (is_bound(name) && own.is_number() && value.is_number()) {
        own = tighter(name, own, value);
    } else if (name == "type") {
        own = common_types(own, value);
        if (own.empty()) return schema_error(place, "two types that no value has at once");
    } else if (name == "enum") {
        Json both = Json::array();
        for (const Json& one : own)
            if (is_in(value, one)) both.push_back(one);
        if (both.empty()) return schema_error(place, "two lists of \"enum\" with no value in common");
        own = std::move(both);
    } else if (name == "items" || name == "additionalProperties") {
        own = both_schemas(own, value);
    } else {
        return schema_error(place,
                            fmt::format("two different values of \"{}\" hold together, which is not "
                                        "supported",
                                        printable(name)),
                            "Write one schema with what both say.");
    }
    return {};
}

}  // namespace ft::grammar
