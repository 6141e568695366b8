// Values that a model writes as bare text, as in <parameter=days>3</parameter>, to JSON by the type that the
// function's schema gives them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ft {

// The types that the schema of an object gives to one of its members: "string", "integer" and so on, in its
// order. Empty where it says nothing.
std::vector<std::string> types_of(const nlohmann::ordered_json& schema, const std::string& member);

// The value as JSON text, of the first type that it fits; where it fits none, or none is given, a string.
std::string typed_value(const std::vector<std::string>& types, std::string_view text);

// A number as JSON writes it, and no larger than its readers take: to them 1e999 is no number.
bool is_json_number(std::string_view word);

// The inside of a JSON string, without its quotes.
std::string json_escaped(std::string_view text);

}  // namespace ft
