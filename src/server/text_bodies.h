// Bodies of the routes that turn texts into ids and back, with nothing computed by the model, and what is
// answered. Pure functions over memory.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/function_ref.h"
#include "server/api_error.h"
#include "server/openai_request.h"

namespace ft {

enum class TextRoute {
    tokenize,           // {"content", …} -> {"tokens"}
    detokenize,         // {"tokens"} -> {"content"}
    apply_template,     // a chat -> {"prompt"}
    render_chat,        // a chat -> {"token_ids"}
    render_completion,  // a completion -> [{"token_ids"}]
    count_tokens        // Anthropic's messages -> {"input_tokens"}
};

// Asked before an answer is written that is many times as long as its body, with its bytes at most. An error:
// there is no room for it.
using TextRoom = FunctionRef<std::optional<ApiError>(uint64_t bytes)>;

// The answer as JSON. An error that is set says what is wrong with the body; there is no answer then.
std::string text_answer(TextRoute route, const nlohmann::ordered_json& body, const ServedModel& model,
                        const std::string& served_name, TextRoom room, std::optional<ApiError>& error);

}  // namespace ft
