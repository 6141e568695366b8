// JSON schemas as rules (docs/structured-output.md lists the keywords). What a schema says is never left out
// silently: a keyword that is not offered is an error that names it and its place.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "grammar/expr.h"

namespace ft::grammar {

// Rule 0 is the whole value. Errors begin with "schema".
Expected<Rules> rules_of_schema(const nlohmann::ordered_json& schema);

}  // namespace ft::grammar
