// A configuration file as a flat list: `section:` and below it `key: value`, or `section.key: value`, with
// the line of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ft {

struct YamlEntry {
    enum class Form { scalar, null, list, map, nested_list };
    std::string section;
    std::string key;
    Form form;
    std::string text;                     // of a scalar
    int line;                             // of the key, from 1
    std::vector<std::string> items = {};  // of a list: its scalars, in order
};

struct YamlSection {
    std::string name;
    int line;
    bool is_map;  // or null, which is an empty section
};

struct YamlFile {
    std::vector<YamlSection> sections;
    std::vector<YamlEntry> entries;
};

constexpr size_t k_largest_config_bytes = size_t{1} << 20;

// `name` is what errors call the text: the file's path. Errors name the line; anchors, aliases and tags are
// refused, a settings file needs none and they are how small files become large.
Expected<YamlFile> parse_yaml(std::string_view text, const std::string& name);

// The content of a file, a pipe too; refused above k_largest_config_bytes.
Expected<std::string> read_config_file(const std::string& path);

}  // namespace ft
