// What a chat may change while its model stays loaded: the settings of answers, by the names that users know.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/settings.h"

namespace ft::cli {

// A row of the table by its name, by its flag or by Ollama's name: "temperature", "temp", "repeat_penalty",
// "num_predict". An error names the nearest, or says how a setting is given that a loaded model keeps.
Expected<const Key*> chat_setting(std::string_view name);

// "temperature: 0.7"
std::string chat_setting_line(const Settings& settings, const Key& key);
// All of them, a line each.
std::string chat_setting_lines(const Settings& settings);

// inference.think, for the model's template; nothing leaves it to the template.
std::optional<bool> asks_for_thinking(const Settings& settings);
// Whether a reply's thinking part is printed. A pipe gets the answer alone unless thinking was asked for.
bool shows_thinking(const Settings& settings, bool on_terminal);

}  // namespace ft::cli
