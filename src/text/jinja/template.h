// A parsed template. Immutable: any number of threads may render it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/ast.h"

namespace ft::jinja {

struct Template {
    Body body;
    std::vector<std::string> names;  // by NameId
    std::vector<bool> owned;         // by NameId: some Body has it among its own
};

// Fails (Failure with the line) where the source is no template, nests deeper than k_max_nesting, or uses a
// statement that is not supported: block, extends, include, import, from, autoescape, do.
Template parse_template(std::string_view source);

}  // namespace ft::jinja
