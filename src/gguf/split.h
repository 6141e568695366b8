// Names of the parts of a split model: PREFIX-00001-of-00005.gguf, counted from 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ft {

struct SplitName {
    std::string prefix;  // with its folder
    uint32_t part = 0;   // from 1
    uint32_t count = 0;

    std::string of(uint32_t part_number) const;  // the path of that part
};

// Nothing where the name has another form, or says a part that cannot be.
std::optional<SplitName> parse_split_name(const std::string& path);

}  // namespace ft
