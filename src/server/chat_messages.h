// Messages of a chat as clients send them, to those that templates read.
#pragma once

#include "server/json_fields.h"

namespace ft {

// Roles system, developer (the same), user, assistant and tool; contents that are a text, null, or parts of
// text, which are joined. Other members are kept for the template. An empty list where the field is wrong.
nlohmann::ordered_json read_messages(JsonFields& fields);

}  // namespace ft
