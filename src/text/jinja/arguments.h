// Arguments of a call, and binding them to parameters by Python's rule.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace ft::jinja {

struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;
};

// Positional arguments first, then by name. Fails where one is missing, unknown, given twice, or there are
// too many. `names` are those of Python; the first `required` must be given.
class Parameters {
 public:
    Parameters(std::string_view function, const Arguments& given, std::initializer_list<const char*> names,
               size_t required = 0);

    bool has(size_t i) const { return values_[i] != nullptr; }
    bool has_value(size_t i) const {
        return values_[i] != nullptr && !values_[i]->is_none();
    }  // given and not none
    const Value& operator[](size_t i) const { return *values_[i]; }
    Value or_else(size_t i, Value otherwise) const { return has(i) ? *values_[i] : std::move(otherwise); }
    bool flag(size_t i) const;                           // truth of it; false when not given
    int64_t integer(size_t i, int64_t otherwise) const;  // fails for what is no integer
    const std::string& text(size_t i) const;             // fails for what is no string

 private:
    std::string_view function_;
    std::vector<const char*> names_;
    std::vector<const Value*> values_;
};

}  // namespace ft::jinja
