// The one table of settings. A row gives the key of the YAML file, the name for --set, the environment
// variable, the flag, and the text of --help, shell completion, the man page and docs/settings.md: whoever
// adds a setting adds a row.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace ft {

// list: texts. A file gives them as a YAML list, the other ways as one text or as a JSON list of texts.
enum class Kind { number, integer, boolean, choice, text, path, list };

// Which commands take the row's flag: all that load a model, those of them that answer prompts, or only
// `serve`. The other ways (file, --set, environment) work everywhere.
enum class Use { loading, answering, serving };

struct Key {
    const char* section;
    const char* name;
    Kind kind;
    Use use = Use::answering;
    double least = 0;  // number, integer: the range, both ends allowed
    double most = std::numeric_limits<double>::infinity();
    const char* choices = "";  // choice: the words, separated by '|'
    const char* fallback =
        "";  // the default as a file would say it; "" is none, "auto" is decided where it is used
    const char* flag = "";        // "--temp"; "" where there is none
    const char* value_name = "";  // what --help calls the value: "N"
    const char* model_key =
        "";  // metadata of the model's file that replaces the default: "general.sampling.temp"
    const char* help = "";
    const char* example = "";  // a value for docs/settings.md
    const char* unit = "";     // of a number: "GiB"; a refusal names it
    bool is_folder = false;    // path: of a folder, not of a file
};

using SettingValue = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

std::span<const Key> keys();

std::string dotted(const Key& key);            // "inference.top_k"
std::string environment_name(const Key& key);  // "FREETOKEN_INFERENCE_TOP_K"
std::string allowed_values(const Key& key);    // "a number from 0 to 1", for messages and documents
bool takes_auto(const Key& key);
// What holds where nobody says anything, for a reader: "auto", "64", "the model's own, else 0.7".
std::string default_text(const Key& key);
std::vector<std::string> choices(const Key& key);

const Key* find_key(std::string_view dotted_name);
bool is_section(std::string_view name);
std::vector<std::string> section_names();
std::vector<std::string> key_names(std::string_view section);

// The value that `text` stands for; nothing for "null" and "auto", which leave the default in force. `name`
// is how the user called the key (a flag, a variable, a dotted key) and begins the sentence.
Expected<std::optional<SettingValue>> parse_value(const Key& key, std::string_view name,
                                                  std::string_view text);

// A value of a list as parse_value() takes it: a JSON list.
std::string list_text(const std::vector<std::string>& texts);

// As YAML; parse_value() and a YAML reader give the same value back.
std::string yaml_text(const SettingValue& value, Kind kind);

}  // namespace ft
