#include "text/jinja/arguments.h"

#include "base/error.h"
#include "text/jinja/heap.h"
#include "text/jinja/operators.h"

namespace ft::jinja {

Parameters::Parameters(std::string_view function, const Arguments& given,
                       std::initializer_list<const char*> names, size_t required)
    : function_(function), names_(names), values_(names.size(), nullptr) {
    if (given.positional.size() > names_.size())
        throw Failure(fmt::format("{}() takes at most {} arguments, {} were given", function, names_.size(),
                                  given.positional.size()));
    for (size_t i = 0; i < given.positional.size(); i++) values_[i] = &given.positional[i];
    for (const auto& [name, value] : given.named) {
        size_t i = 0;
        while (i < names_.size() && name != names_[i]) i++;
        if (i == names_.size()) throw Failure(fmt::format("{}() has no argument named '{}'", function, name));
        if (values_[i] != nullptr) throw Failure(fmt::format("{}() got '{}' twice", function, name));
        values_[i] = &value;
    }
    for (size_t i = 0; i < required; i++)
        if (values_[i] == nullptr)
            throw Failure(fmt::format("{}() needs the argument '{}'", function, names_[i]));
}

bool Parameters::flag(size_t i) const { return has(i) && truth(*values_[i]); }

int64_t Parameters::integer(size_t i, int64_t otherwise) const {
    if (!has(i)) return otherwise;
    need_defined(*values_[i]);
    if (!values_[i]->is_integral())
        throw Failure(fmt::format("{}(): '{}' must be an integer, it is {}", function_, names_[i],
                                  type_name(*values_[i])));
    return values_[i]->as_integer();
}

const std::string& Parameters::text(size_t i) const {
    need_defined(*values_[i]);
    if (!values_[i]->is_string())
        throw Failure(fmt::format("{}(): '{}' must be a string, it is {}", function_, names_[i],
                                  type_name(*values_[i])));
    return values_[i]->text();
}

}  // namespace ft::jinja
