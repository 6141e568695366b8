#include "config/settings.h"

#include <unistd.h>

#include <algorithm>

#include "config/nearest_name.h"
#include "config/yaml_file.h"

namespace ft {

namespace {

constexpr std::string_view k_prefix = "FREETOKEN_";

size_t row_of(std::string_view name) {
    const Key* key = find_key(name);
    check(key != nullptr, "a setting that is no row of the table");
    return static_cast<size_t>(key - keys().data());
}

Error unknown(std::string_view place, std::string_view name, const std::vector<std::string>& names,
              std::string_view what) {
    std::string guess = did_you_mean(name, names);
    if (guess.empty()) {
        guess = "Known: ";
        for (size_t i = 0; i < names.size(); i++) guess += (i ? ", " : "") + names[i];
        guess += '.';
    }
    return Error{Code::invalid, fmt::format("{}: {} is not a {}", place, printable(name), what), guess};
}

// A section and a key as the user wrote them, to the row; `place` begins the error.
Expected<const Key*> look_up(std::string_view place, const std::string& section, const std::string& name) {
    if (!is_section(section)) return unknown(place, section, section_names(), "section of the settings");
    const Key* key = find_key(section + "." + name);
    if (!key)
        return unknown(place, name, key_names(section), fmt::format("setting of the section {}", section));
    return key;
}

// `name` as the user wrote it, after a place: "config.yaml line 3: inference.top_p".
Status assign(Settings& settings, const Key& key, std::string_view name, std::string_view text,
              std::string origin) {
    Expected<std::optional<SettingValue>> value = parse_value(key, name, text);
    if (!value) return value.error();
    settings.set(key, std::move(*value), std::move(origin));
    return {};
}

std::string_view form_name(YamlEntry::Form form) {
    if (form == YamlEntry::Form::nested_list) return "a list of other things than texts";
    return form == YamlEntry::Form::list ? "a list" : "a map";
}

Status check_sections(const YamlFile& file, const std::string& path) {
    for (size_t i = 0; i < file.sections.size(); i++) {
        const YamlSection& section = file.sections[i];
        const std::string place = fmt::format("{} line {}", path, section.line);
        if (!is_section(section.name))
            return unknown(place, section.name, section_names(), "section of the settings");
        if (!section.is_map)
            return Error{Code::invalid,
                         fmt::format("{}: {} is a section and takes keys below it", place, section.name),
                         fmt::format("Write `{}:` and on the next line `  {}: …`.", section.name,
                                     key_names(section.name).front())};
        for (size_t j = 0; j < i; j++)
            if (file.sections[j].name == section.name)
                return Error{Code::invalid,
                             fmt::format("{}: the section {} stands twice, first on line {}", place,
                                         section.name, file.sections[j].line),
                             "Put its keys together."};
    }
    return {};
}

Status take_entry(Settings& settings, const YamlEntry& entry, const std::string& path,
                  std::vector<int>& line_of) {
    const std::string place = fmt::format("{} line {}", path, entry.line);
    const Expected<const Key*> key = look_up(place, entry.section, entry.key);
    if (!key) return key.error();
    const std::string name = fmt::format("{}: {}", place, dotted(**key));
    int& earlier = line_of[static_cast<size_t>(*key - keys().data())];
    if (earlier != 0)
        return Error{Code::invalid, fmt::format("{} is given twice, first on line {}", name, earlier),
                     "Keep one of them."};
    earlier = entry.line;
    const bool takes_list = (*key)->kind == Kind::list;
    if (takes_list && entry.form == YamlEntry::Form::list)
        return assign(settings, **key, name, list_text(entry.items), place);
    if (entry.form != YamlEntry::Form::scalar && entry.form != YamlEntry::Form::null)
        return Error{Code::invalid,
                     fmt::format("{} takes {}, not {}", name, allowed_values(**key), form_name(entry.form)),
                     ""};
    return assign(settings, **key, name, entry.form == YamlEntry::Form::null ? "null" : entry.text, place);
}

Status take_file(Settings& settings, const std::string& path) {
    Expected<std::string> text = read_config_file(path);
    if (!text) return text.error();
    Expected<YamlFile> file = parse_yaml(*text, path);
    if (!file) return file.error();
    if (Status sections = check_sections(*file, path); !sections) return sections;
    std::vector<int> line_of(keys().size(), 0);
    for (const YamlEntry& entry : file->entries)
        if (Status taken = take_entry(settings, entry, path, line_of); !taken) return taken;
    return {};
}

// A variable that begins like a section's but names no key is a misspelt setting; other FREETOKEN_ names are
// not ours to judge (FREETOKEN_ISA).
Status take_variable(Settings& settings, const std::string& name, const std::string& text) {
    std::vector<std::string> names;
    bool of_a_section = false;
    for (const Key& key : keys()) {
        names.push_back(environment_name(key));
        if (names.back() == name) return text.empty() ? Status() : assign(settings, key, name, text, name);
        const size_t key_at = names.back().size() - std::string_view(key.name).size();
        of_a_section = of_a_section || name.starts_with(names.back().substr(0, key_at));
    }
    if (!of_a_section) return {};
    return unknown("environment", name, names, "setting");
}

Status take_assignment(Settings& settings, const std::string& text) {
    const size_t equals = text.find('=');
    const std::string place = fmt::format("--set {}", printable(text));
    if (equals == std::string::npos)
        return Error{Code::invalid, fmt::format("{} has no value", place), "Write --set section.key=value."};
    const std::string name = text.substr(0, equals);
    const size_t dot = name.find('.');
    if (dot == std::string::npos)
        return Error{Code::invalid, fmt::format("{}: \"{}\" is not section.key", place, printable(name)),
                     "Write --set section.key=value."};
    const Expected<const Key*> key = look_up(place, name.substr(0, dot), name.substr(dot + 1));
    if (!key) return key.error();
    return assign(settings, **key, fmt::format("--set {}", name), text.substr(equals + 1), "--set");
}

}  // namespace

Settings::Settings() : entries_(keys().size()) {
    for (size_t i = 0; i < entries_.size(); i++) set(keys()[i], std::nullopt, "default");
}

const Settings::Entry& Settings::entry(std::string_view name) const { return entries_[row_of(name)]; }

void Settings::set(const Key& key, std::optional<SettingValue> value, std::string origin) {
    Entry& entry = entries_[row_of(dotted(key))];
    entry.given = value.has_value();
    entry.origin = std::move(origin);
    entry.value = std::move(value);
    if (entry.value || std::string_view(key.fallback).empty()) return;
    Expected<std::optional<SettingValue>> fallback = parse_value(key, dotted(key), key.fallback);
    check(static_cast<bool>(fallback), "the default of a setting is outside its own range");
    entry.value = std::move(*fallback);
}

Status Settings::advise(const Key& key, std::string_view text) {
    Entry& entry = entries_[row_of(dotted(key))];
    if (entry.given) return {};
    Expected<std::optional<SettingValue>> value = parse_value(key, key.model_key, text);
    if (!value) return value.error();
    if (!*value) return {};
    entry.value = std::move(*value);
    entry.origin = key.model_key;
    return {};
}

bool Settings::has(std::string_view name) const { return entry(name).value.has_value(); }
bool Settings::given(std::string_view name) const { return entry(name).given; }
const std::string& Settings::origin(std::string_view name) const { return entry(name).origin; }

namespace {

template <class T>
const T& held(const std::optional<SettingValue>& value) {
    check(value.has_value(), "value of a setting that has none");
    check(std::holds_alternative<T>(*value), "a setting read as another kind than its row's");
    return std::get<T>(*value);
}

}  // namespace

double Settings::number(std::string_view name) const { return held<double>(entry(name).value); }
int64_t Settings::integer(std::string_view name) const { return held<int64_t>(entry(name).value); }
bool Settings::boolean(std::string_view name) const { return held<bool>(entry(name).value); }
const std::string& Settings::text(std::string_view name) const {
    return held<std::string>(entry(name).value);
}
std::vector<std::string> Settings::list(std::string_view name) const {
    if (!has(name)) return {};
    return held<std::vector<std::string>>(entry(name).value);
}

std::vector<std::pair<std::string, std::string>> process_environment() {
    std::vector<std::pair<std::string, std::string>> found;
    for (char** at = environ; at && *at; at++) {
        const std::string_view line = *at;
        const size_t equals = line.find('=');
        if (line.starts_with(k_prefix) && equals != std::string_view::npos)
            found.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    return found;
}

Expected<Settings> load_settings(const Sources& sources) {
    Settings settings;
    for (const Sources::Preset& preset : sources.presets) {
        const Key* key = find_key(preset.key);
        check(key != nullptr, "a preset of a setting that is no row of the table");
        const std::string name = fmt::format("{}: {}", preset.origin, preset.key);
        if (Status taken = assign(settings, *key, name, preset.text, preset.origin); !taken)
            return taken.error();
    }
    if (sources.config_path)
        if (Status file = take_file(settings, *sources.config_path); !file) return file.error();
    for (const auto& [name, text] : sources.environment)
        if (Status variable = take_variable(settings, name, text); !variable) return variable.error();
    for (const std::string& text : sources.assignments)
        if (Status assignment = take_assignment(settings, text); !assignment) return assignment.error();
    for (const Sources::Flag& flag : sources.flags)
        if (Status taken = assign(settings, *flag.key, flag.name, flag.text, flag.name); !taken)
            return taken.error();
    return settings;
}

std::string settings_yaml(const Settings& settings) {
    std::string text, section;
    for (size_t i = 0; i < keys().size(); i++) {
        const Key& key = keys()[i];
        const Settings::Entry& entry = settings.entries_[i];
        if (section != key.section) text += fmt::format("{}:\n", section = key.section);
        // `auto`, not the fallback: given back as a file it must leave the model's own value in force
        const std::string value = entry.given       ? yaml_text(*entry.value, key.kind)
                                  : takes_auto(key) ? "auto"
                                  : entry.value     ? yaml_text(*entry.value, key.kind)
                                                    : "null";
        const std::string meaning =
            !entry.given && takes_auto(key) && entry.value ? fmt::format(" ({})", default_text(key)) : "";
        text += fmt::format("  {}: {}  # {}{}\n", key.name, value, printable(entry.origin), meaning);
    }
    return text;
}

}  // namespace ft
