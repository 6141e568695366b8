#include "text/jinja/filters.h"

#include "base/error.h"
#include "text/jinja/filter_tables.h"
#include "text/jinja/show.h"

namespace ft::jinja {

const Filter* find_filter(std::string_view name) {
    for (const auto table : {text_filters(), sequence_filters()})
        for (const Filter& filter : table)
            if (filter.name == name) return &filter;
    return nullptr;
}

std::string unknown_filter(std::string_view name) {
    return fmt::format("No filter named '{}'.", printable(name, 60));
}

std::string text_of(Heap& heap, const Value& value) { return to_text(heap, value); }

}  // namespace ft::jinja
