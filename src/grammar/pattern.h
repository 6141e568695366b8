// Regular expressions of JSON schemas (ECMA 262, a part of it), as what stands between the quotes of a
// string. Offered: characters, escapes (\d \w \s \D \W \S \n \r \t \f \v \0 \xHH \uHHHH, and punctuation), .,
// classes, groups, |, * + ? {m,n} (lazy or not), ^ and $ around a whole way. Refused by name: what looks
// around or back,
// \b, \p, and anchors within.
#pragma once

#include <string_view>

#include "base/error.h"
#include "grammar/json_rules.h"

namespace ft::grammar {

// As JSON Schema has it, text around the match is allowed where no anchor forbids it. The error is a sentence
// about the pattern, without its place.
Expected<Expr> pattern_content(std::string_view pattern, JsonRules& json);

}  // namespace ft::grammar
