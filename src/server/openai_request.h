// Bodies of OpenAI's /v1/completions and /v1/chat/completions, to requests of the engine. Fields that only a
// hosted service needs and unknown ones are passed over; a field that would change the answer and is not
// offered is refused by its name. null is the same as absent. The other dialects read to the same OpenAiCall.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "server/api_error.h"
#include "server/request_defaults.h"
#include "text/tokenizer.h"

namespace ft {

class ChatTemplate;
struct ToolRules;

enum class OpenAiRoute { completions, chat };
std::optional<OpenAiRoute> openai_route(std::string_view url);  // "/v1/completions", …

// What a model brings to the reading of a request. All of it must outlive the call.
struct ServedModel {
    const Tokenizer& tokenizer;
    const ChatTemplate* chat_template;  // nullptr: it has none
    const RequestDefaults& defaults;
    int64_t n_ctx;            // a prompt must leave room for a token of the answer
    bool auto_evict = false;  // a chat that does not fit loses its oldest turns (kv_cache.auto_evict)
};

struct OpenAiCall {
    OpenAiRoute route = OpenAiRoute::completions;
    std::string model = {};              // as the client calls it; "" where it does not
    std::vector<Request> requests = {};  // one for each prompt; each gives n choices, all with the same seed
    std::vector<std::string> echoes =
        {};                        // with echo: the text of each prompt, for the beginning of its choices
    std::string prompt_text = {};  // chat: what the template wrote
    bool split_thinking = false;   // <think> … </think> of an answer is no text
    bool inside_thinking = false;  // chat: the template has opened <think> for the model
    size_t dropped_turns = 0;      // chat: the oldest ones, which the context had no room for
    // How calls of functions are found in the answers; nullptr: they are not looked for.
    std::shared_ptr<const ToolRules> tools = {};
    bool stream = false;
    bool include_usage = false;  // in a stream
};

// The call, or why it is refused. Lanes are the caller's to set.
struct ParsedCall {
    std::optional<OpenAiCall> call;
    ApiError error;  // where there is no call
};
ParsedCall parse_openai(OpenAiRoute route, const nlohmann::ordered_json& body, const ServedModel& model);

constexpr size_t k_most_prompts = 64;           // of one call
constexpr size_t k_most_choices_of_call = 256;  // of all its prompts together
constexpr size_t k_most_messages = 100000;

}  // namespace ft
