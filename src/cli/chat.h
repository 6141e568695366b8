// The chat of `run` without a prompt: a loaded model and a terminal joined by chat_loop.h.
#pragma once

#include "cli/answer_printer.h"
#include "cli/conversation.h"
#include "cli/run_model.h"

namespace ft::cli {

Expected<int> chat(RunModel& model, Conversation& conversation, const PrintStyle& style);

}  // namespace ft::cli
