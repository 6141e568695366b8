#include "cli/chat_settings.h"

#include <algorithm>

#include "base/ascii.h"
#include "config/nearest_name.h"

namespace ft::cli {

namespace {

// Ollama's words, where they are neither the name nor the flag of ours.
constexpr std::pair<std::string_view, std::string_view> k_words_of_ollama[] = {
    {"num_predict", "max_tokens"}, {"num_ctx", "max_context"}, {"num_thread", "threads"}};

// "--top-p", "top-p" and "TOP_P" are "top_p".
std::string plain_name(std::string_view text) {
    while (text.starts_with('-')) text.remove_prefix(1);
    std::string name = ascii_lower(text);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

// The system prompt has a command of its own.
bool is_of_answers(const Key& key) {
    return key.use == Use::answering && std::string_view(key.section) == "inference" &&
           std::string_view(key.name) != "system";
}

bool has_name(const Key& key, const std::string& name) {
    return key.name == name || (*key.flag != '\0' && plain_name(key.flag) == name);
}

std::string value_in_force(const Settings& settings, const Key& key) {
    const std::string name = dotted(key);
    if (!settings.has(name)) return takes_auto(key) ? "auto" : "none";
    switch (key.kind) {
        case Kind::number:
            return yaml_text(settings.number(name), key.kind);
        case Kind::integer:
            return yaml_text(settings.integer(name), key.kind);
        case Kind::boolean:
            return yaml_text(settings.boolean(name), key.kind);
        case Kind::list:
            return yaml_text(settings.list(name), key.kind);
        case Kind::choice:
        case Kind::text:
        case Kind::path:
            return yaml_text(settings.text(name), key.kind);
    }
    return "";
}

std::string think_word(const Settings& settings) {
    return settings.has("inference.think") ? settings.text("inference.think") : "auto";
}

}  // namespace

Expected<const Key*> chat_setting(std::string_view typed) {
    std::string name = plain_name(typed);
    for (const auto& [theirs, ours] : k_words_of_ollama)
        if (name == theirs) name = ours;
    std::vector<std::string> names;
    for (const Key& key : keys()) {
        if (!is_of_answers(key)) continue;
        if (has_name(key, name)) return &key;
        names.emplace_back(key.name);
    }
    for (const Key& key : keys())
        if (has_name(key, name))
            return Error{Code::invalid, fmt::format("{} stays what it is while the chat runs", dotted(key)),
                         *key.flag
                             ? fmt::format("Start `freetoken run` with {} {}.", key.flag, key.value_name)
                             : fmt::format("Start `freetoken run` with --set {}=VALUE.", dotted(key))};
    const std::string guess = did_you_mean(name, names);
    return Error{Code::invalid, fmt::format("there is no setting {}", printable(typed)),
                 guess.empty() ? "/set alone lists them." : guess};
}

std::string chat_setting_line(const Settings& settings, const Key& key) {
    return fmt::format("{}: {}", key.name, value_in_force(settings, key));
}

std::string chat_setting_lines(const Settings& settings) {
    std::string lines;
    for (const Key& key : keys())
        if (is_of_answers(key))
            lines += fmt::format("{}  {:<22} {}", lines.empty() ? "" : "\n", key.name,
                                 value_in_force(settings, key));
    return lines;
}

std::optional<bool> asks_for_thinking(const Settings& settings) {
    const std::string think = think_word(settings);
    if (think == "auto") return std::nullopt;
    return think != "off";
}

bool shows_thinking(const Settings& settings, bool on_terminal) {
    const std::string think = think_word(settings);
    return think == "on" || (think != "hide" && on_terminal);
}

}  // namespace ft::cli
