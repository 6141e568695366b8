// Fields of OpenAI's, llama-server's and vLLM's requests that would change the answer and are not offered:
// they are refused by their name, unless their value changes nothing.
#pragma once

#include "server/json_fields.h"

namespace ft {

void refuse_unoffered(JsonFields& fields);

// Fields of chats, where the body is none.
void refuse_chat_fields(JsonFields& fields);

}  // namespace ft
