// A chat in any dialect, once its own words have been read: the common way from messages to a request of the
// engine.
#pragma once

#include <optional>
#include <string>

#include "server/json_fields.h"
#include "server/openai_request.h"
#include "server/tools/tool_fields.h"

namespace ft {

struct ChatDraft {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();  // as read_messages gives them
    ToolOffer tools = {};
    std::optional<bool> think =
        {};  // the template's switch; nothing: what the settings say, or the template's own
    nlohmann::ordered_json extra = nlohmann::ordered_json::object();  // further variables of the template
    bool continue_last = false;      // a last message of the assistant is gone on with, not answered
    bool split_thinking = true;      // thinking is told apart from text
    const char* field = "messages";  // what errors about the prompt name
    const char* choice_field = "tool_choice";
};

// Fills in call.requests with the one request, and how its answers are read.
void finish_chat(JsonFields& fields, ChatDraft draft, Request request, const ServedModel& model,
                 OpenAiCall& call);

// Words for how much a model is to think, OpenAI's and Anthropic's: none, minimal, low, medium, high, xhigh,
// max. `minimal` and `none` switch it off.
void read_effort(JsonFields& fields, const char* name, ChatDraft& draft);

// Prompts that are empty, or leave no room for a token of the answer. name: the field.
void check_lengths(JsonFields& fields, const char* name, const OpenAiCall& call, int64_t n_ctx);

}  // namespace ft
