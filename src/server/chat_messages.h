// Messages of a chat as clients send them, to those that templates read.
#pragma once

#include "server/json_fields.h"

namespace ft {

// Roles system, developer (the same), user, assistant and tool; contents that are a text, null, or parts of
// text, which are joined. Calls of an assistant get their arguments as an object where they are one, results
// of tools the name of the function that they are of. Other members are kept for the template. An empty list
// where the field is wrong. empty_is_fine: of Ollama, where no message is no error.
nlohmann::ordered_json read_messages(JsonFields& fields, bool empty_is_fine = false);

// The text of a list of parts, joined; nothing where a part is wrong, which `fields` then says of `name`.
// Pictures, sound and files are refused.
std::optional<std::string> join_parts(const nlohmann::ordered_json& parts, const std::string& name,
                                      JsonFields& fields);

// Arguments as an object where they are a text that holds one.
nlohmann::ordered_json arguments_object(const nlohmann::ordered_json& arguments);

// Gives results of tools the name of the call that they answer by its id, where they have none.
void name_results(nlohmann::ordered_json& messages);

// Gives a message of the assistant more of what was thought before it, as a paragraph of its own.
void add_thinking_text(const std::string& text, nlohmann::ordered_json& message);

// Several system messages at the beginning become one.
void merge_leading_systems(nlohmann::ordered_json& messages);

}  // namespace ft
