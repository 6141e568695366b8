// What Ollama's data is to a template: the fields of its structs, and where they stand in the JSON of a chat.
#pragma once

#include <span>
#include <string_view>

#include "text/go/value.h"

namespace ft::go {

struct FieldRow {
    Type owner;
    std::string_view name, key;
    Type type;  // of a list or map in it
    Kind zero;  // the kind of what an absent one holds
};

// All of an owner, in the order in which Ollama writes them as JSON.
std::span<const FieldRow> fields_of(Type owner);
const FieldRow* find_field(Type owner, std::string_view name);  // nullptr: it has none of that name

bool is_struct(Type type);             // its fields are these and no others
bool prints_json(Type type);           // {{ }} writes it as JSON
bool keeps_others(Type type);          // as JSON it also has what no field names
Type item_type(Type list_or_map);      // of what is in it
Type root_type(std::string_view key);  // of the top's .Messages and .Tools

// "a message", "a list of tools"
std::string_view type_name(Type type, bool is_list);

}  // namespace ft::go
