// The keywords of JSON schemas: which are read, which only describe, and the reading of their values.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ft::grammar {

using Json = nlohmann::ordered_json;

// "schema: WHAT at #/properties/a."
Error schema_error(std::string_view place, std::string what, std::string remedy = "");

// Names that need no reading: title, description, $defs, and so on.
bool is_description(std::string_view keyword);

// An error that names a keyword which is not offered, or a value that one cannot have.
Status check_keywords(const Json& schema, const std::string& place);

// Whether anything but descriptions and `except` is said.
bool says_more_than(const Json& schema, std::string_view except);

const Json* find(const Json& schema, const char* keyword);  // nullptr: absent

// Names of types, as "type" lists them, or those that the other keywords speak of; empty: any value.
Expected<std::vector<std::string>> types_of(const Json& schema, const std::string& place);

// Whether a value is of a type.
bool is_of_type(const Json& value, std::string_view type);

// A count such as minLength; nothing where it is absent.
Expected<std::optional<int64_t>> count_of(const Json& schema, const char* keyword, const std::string& place);

// Counts of a pair such as minLength and maxLength; most -1: no limit.
struct Counts {
    int64_t least = 0, most = -1;
};
Expected<Counts> counts_of(const Json& schema, const char* least, const char* most, const std::string& place);

// minimum, maximum and their exclusive forms.
struct NumberBounds {
    std::optional<double> least, most;
    bool without_least = false, without_most = false;
    bool none() const { return !least && !most; }
};
Expected<NumberBounds> number_bounds_of(const Json& schema, const std::string& place);

// A value as JSON, in one line.
std::string json_text_of(const Json& value);

}  // namespace ft::grammar
