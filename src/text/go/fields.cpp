#include "text/go/fields.h"

#include <algorithm>
#include <iterator>

namespace ft::go {

namespace {

// By owner; its rows in the order of Ollama's JSON.
constexpr FieldRow k_fields[] = {
    {Type::message, "Role", "role", Type::any, Kind::text},
    {Type::message, "Content", "content", Type::any, Kind::text},
    {Type::message, "Thinking", "thinking", Type::any, Kind::text},
    {Type::message, "Images", "images", Type::any, Kind::list},
    {Type::message, "ToolCalls", "tool_calls", Type::calls, Kind::list},
    {Type::message, "ToolName", "tool_name", Type::any, Kind::text},
    {Type::message, "ToolCallID", "tool_call_id", Type::any, Kind::text},
    {Type::call, "ID", "id", Type::any, Kind::text},
    {Type::call, "Function", "function", Type::called, Kind::map},
    {Type::called, "Index", "index", Type::any, Kind::integer},
    {Type::called, "Name", "name", Type::any, Kind::text},
    {Type::called, "Arguments", "arguments", Type::arguments, Kind::map},
    {Type::tool, "Type", "type", Type::any, Kind::text},
    {Type::tool, "Items", "items", Type::any, Kind::nil},
    {Type::tool, "Function", "function", Type::function, Kind::map},
    {Type::function, "Name", "name", Type::any, Kind::text},
    {Type::function, "Description", "description", Type::any, Kind::text},
    {Type::function, "Parameters", "parameters", Type::parameters, Kind::map},
    {Type::parameters, "Type", "type", Type::any, Kind::text},
    {Type::parameters, "Defs", "$defs", Type::any, Kind::nil},
    {Type::parameters, "Items", "items", Type::any, Kind::nil},
    {Type::parameters, "Required", "required", Type::any, Kind::list},
    {Type::parameters, "Properties", "properties", Type::properties, Kind::map},
    {Type::property, "AnyOf", "anyOf", Type::alternatives, Kind::list},
    {Type::property, "Type", "type", Type::any, Kind::text},
    {Type::property, "Items", "items", Type::any, Kind::nil},
    {Type::property, "Description", "description", Type::any, Kind::text},
    {Type::property, "Enum", "enum", Type::any, Kind::list},
    {Type::property, "Properties", "properties", Type::properties, Kind::map},
    {Type::property, "Required", "required", Type::any, Kind::list},
};

}  // namespace

std::span<const FieldRow> fields_of(Type owner) {
    const auto is_mine = [=](const FieldRow& row) { return row.owner == owner; };
    const auto begin = std::find_if(std::begin(k_fields), std::end(k_fields), is_mine);
    return {begin, std::find_if_not(begin, std::end(k_fields), is_mine)};
}

const FieldRow* find_field(Type owner, std::string_view name) {
    for (const FieldRow& row : fields_of(owner))
        if (row.name == name) return &row;
    return nullptr;
}

bool is_struct(Type type) { return !fields_of(type).empty(); }

bool prints_json(Type type) {
    switch (type) {
        case Type::arguments:
        case Type::tools:
        case Type::tool:
        case Type::function:
        case Type::parameters:
        case Type::properties:
            return true;
        default:
            return false;
    }
}

bool keeps_others(Type type) {
    return type == Type::tool || type == Type::function || type == Type::parameters || type == Type::property;
}

Type item_type(Type list_or_map) {
    switch (list_or_map) {
        case Type::messages:
            return Type::message;
        case Type::calls:
            return Type::call;
        case Type::tools:
            return Type::tool;
        case Type::properties:
        case Type::alternatives:
            return Type::property;
        default:
            return Type::any;
    }
}

Type root_type(std::string_view key) {
    return key == "Messages" ? Type::messages : key == "Tools" ? Type::tools : Type::any;
}

std::string_view type_name(Type type, bool is_list) {
    switch (type) {
        case Type::root:
            return "the data as a whole";
        case Type::messages:
            return "the list of messages";
        case Type::message:
            return "a message";
        case Type::calls:
            return "a list of calls";
        case Type::call:
            return "a call";
        case Type::called:
            return "the function of a call";
        case Type::tool:
            return "a tool";
        case Type::function:
            return "the function of a tool";
        case Type::parameters:
            return "the parameters of a function";
        case Type::property:
            return "a property";
        default:
            return is_list ? "a list" : "a map";
    }
}

}  // namespace ft::go
