// A conversation by the model's template, also where the template does not know all that a conversation may
// hold.
//
// Tried in this order, until all of the conversation shows in the text: as it is; with the arguments of calls
// as text; with system messages after the first turn as messages of the user (some templates refuse them,
// some leave them out), neighbours of one role joined; with functions described in the system message, calls
// and results as text. A message never moves to an earlier place, so that what was read of the beginning
// stays of use.
#pragma once

#include <string>

#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace ft {

// context.messages: as read_messages gives them. An error is the template's, of the first form.
Expected<std::string> render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                  const ChatContext& context);

}  // namespace ft
