#include "grammar/schema_keywords.h"

#include <algorithm>
#include <cmath>

namespace ft::grammar {

namespace {

constexpr std::string_view k_descriptions[] = {
    "$schema",  "$id",        "$comment", "$defs",       "definitions", "title",    "default",
    "examples", "deprecated", "example",  "description", "readOnly",    "writeOnly"};

constexpr std::string_view k_read[] = {"$ref",
                                       "allOf",
                                       "anyOf",
                                       "oneOf",
                                       "const",
                                       "enum",
                                       "type",
                                       "properties",
                                       "required",
                                       "items",
                                       "prefixItems",
                                       "minItems",
                                       "maxItems",
                                       "uniqueItems",
                                       "minLength",
                                       "pattern",
                                       "format",
                                       "minimum",
                                       "maximum",
                                       "maxLength",
                                       "exclusiveMinimum",
                                       "exclusiveMaximum",
                                       "additionalProperties"};

constexpr std::string_view k_types[] = {"object", "array", "string", "integer", "number", "boolean", "null"};

template <size_t n>
bool holds(const std::string_view (&names)[n], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool has_any(const Json& schema, std::initializer_list<const char*> keywords) {
    return std::any_of(keywords.begin(), keywords.end(), [&](const char* k) { return schema.contains(k); });
}

Status check_lists(const Json& schema, const std::string& place) {
    for (const char* name : {"allOf", "anyOf", "oneOf", "enum", "prefixItems"}) {
        const Json* list = find(schema, name);
        if (list && (!list->is_array() || list->empty()))
            return schema_error(place, fmt::format("{} takes a list that is not empty", name));
    }
    if (const Json* properties = find(schema, "properties"); properties && !properties->is_object())
        return schema_error(place, "properties takes an object of schemas");
    const Json* required = find(schema, "required");
    if (required && (!required->is_array() || !std::all_of(required->begin(), required->end(),
                                                           [](const Json& n) { return n.is_string(); })))
        return schema_error(place, "required takes a list of names");
    for (const char* name : {"pattern", "format", "$ref"}) {
        const Json* text = find(schema, name);
        if (text && !text->is_string()) return schema_error(place, fmt::format("{} takes a text", name));
    }
    return {};
}

}  // namespace

std::string json_text_of(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error schema_error(std::string_view place, std::string what, std::string remedy) {
    return Error{Code::invalid, fmt::format("schema: {}, at {}", what, printable(place)), std::move(remedy)};
}

bool is_description(std::string_view keyword) { return holds(k_descriptions, keyword); }

const Json* find(const Json& schema, const char* keyword) {
    const auto found = schema.find(keyword);
    return found == schema.end() ? nullptr : &*found;
}

Status check_keywords(const Json& schema, const std::string& place) {
    for (const auto& [name, value] : schema.items())
        if (!is_description(name) && !holds(k_read, name))
            return schema_error(place, fmt::format("the keyword \"{}\" is not supported", printable(name)),
                                "docs/structured-output.md lists the keywords; leave this one out.");
    const Json* unique = find(schema, "uniqueItems");
    if (unique && *unique != false)
        return schema_error(place, "the keyword \"uniqueItems\" is not supported", "Leave it out.");
    return check_lists(schema, place);
}

bool says_more_than(const Json& schema, std::string_view except) {
    for (const auto& [name, value] : schema.items())
        if (name != except && !is_description(name)) return true;
    return false;
}

Expected<std::vector<std::string>> types_of(const Json& schema, const std::string& place) {
    std::vector<std::string> types;
    if (const Json* type = find(schema, "type")) {
        const Json list = type->is_array() ? *type : Json::array({*type});
        for (const Json& name : list) {
            const std::string text = name.is_string() ? name.get<std::string>() : json_text_of(name);
            if (!holds(k_types, text))
                return schema_error(place, fmt::format("there is no type \"{}\"", printable(text)),
                                    "Types are object, array, string, integer, number, boolean and null.");
            types.push_back(text);
        }
        if (types.empty()) return schema_error(place, "type takes the name of a type, or a list of them");
        return types;
    }
    if (has_any(schema, {"properties", "required", "additionalProperties"})) types.push_back("object");
    if (has_any(schema, {"items", "prefixItems", "minItems", "maxItems"})) types.push_back("array");
    if (has_any(schema, {"minLength", "maxLength", "pattern", "format"})) types.push_back("string");
    if (has_any(schema, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}))
        types.push_back("number");
    return types;
}

bool is_of_type(const Json& value, std::string_view type) {
    if (type == "integer")
        return value.is_number_integer() ||
               (value.is_number_float() && std::nearbyint(value.get<double>()) == value.get<double>());
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
           (type == "boolean" && value.is_boolean()) || (type == "null" && value.is_null());
}

Expected<std::optional<int64_t>> count_of(const Json& schema, const char* keyword, const std::string& place) {
    const Json* value = find(schema, keyword);
    if (!value) return std::optional<int64_t>();
    const double number = value->is_number() ? value->get<double>() : -1;
    if (number < 0 || number > 1e9 || std::nearbyint(number) != number)
        return schema_error(place, fmt::format("{} takes a whole number from 0 to 1000000000", keyword));
    return std::optional(static_cast<int64_t>(number));
}

Expected<Counts> counts_of(const Json& schema, const char* least, const char* most,
                           const std::string& place) {
    const Expected<std::optional<int64_t>> from = count_of(schema, least, place),
                                           to = count_of(schema, most, place);
    if (!from) return from.error();
    if (!to) return to.error();
    const Counts counts = {from->value_or(0), to->value_or(-1)};
    if (*to && counts.most < counts.least)
        return schema_error(place, fmt::format("{} is less than {}", most, least));
    return counts;
}

Expected<NumberBounds> number_bounds_of(const Json& schema, const std::string& place) {
    NumberBounds bounds;
    for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
        const Json* value = find(schema, keyword);
        if (!value) continue;
        const double number = value->is_number() ? value->get<double>() : NAN;
        if (!std::isfinite(number)) return schema_error(place, fmt::format("{} takes a number", keyword));
        const bool exclusive = keyword[0] == 'e', is_least = std::string_view(keyword).ends_with("inimum");
        std::optional<double>& bound = is_least ? bounds.least : bounds.most;
        bool& without = is_least ? bounds.without_least : bounds.without_most;
        const bool tighter = !bound || (is_least ? number > *bound : number < *bound);
        if (tighter || (number == *bound && exclusive)) without = exclusive;
        if (tighter) bound = number;
    }
    return bounds;
}

}  // namespace ft::grammar
