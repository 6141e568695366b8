#include "server/openai_request.h"

#include <algorithm>

#include "base/utf8.h"
#include "server/chat_messages.h"
#include "server/chat_request.h"
#include "server/sampling_fields.h"
#include "server/unoffered_fields.h"
#include "text/prompt.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

constexpr double k_openai_hottest = 2;

void read_stream(JsonFields& fields, OpenAiCall& call, std::optional<ApiError>& error) {
    call.stream = fields.boolean("stream").value_or(false);
    const Json* options = fields.find("stream_options");
    if (!options) return;
    if (!options->is_object()) return fields.expected("stream_options", "an object", *options);
    JsonFields of_options(*options, error, "stream_options.");
    call.include_usage = of_options.boolean("include_usage").value_or(false);
}

// chat: logprobs is a yes or no, and top_logprobs the number.
void read_chat_logprobs(JsonFields& fields, Request& request) {
    const bool wanted = fields.boolean("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, k_most_top_logprobs);
    if (top && *top > 0 && !wanted) fields.fail("top_logprobs", "top_logprobs needs logprobs to be true.");
    if (wanted) request.top_logprobs = static_cast<int>(top.value_or(0));
}

// completions: the number alone.
void read_completion_logprobs(JsonFields& fields, Request& request) {
    if (const auto top = fields.integer("logprobs", 0, k_most_top_logprobs))
        request.top_logprobs = static_cast<int>(*top);
}

std::optional<std::vector<int32_t>> read_ids(const Json& list, int n_vocab) {
    std::vector<int32_t> ids;
    for (const Json& id : list) {
        if (!id.is_number_integer() || id < 0 || id >= n_vocab) return std::nullopt;
        ids.push_back(id.get<int32_t>());
    }
    return ids;
}

using PromptIds = std::vector<std::vector<int32_t>>;

// A text, ids, or a list of either.
PromptIds read_prompts(JsonFields& fields, const Tokenizer& tokenizer) {
    PromptIds prompts;
    const Json* prompt = fields.find("prompt");
    if (!prompt) {
        fields.fail("prompt", "prompt is missing.");
        return prompts;
    }
    const auto take = [&](const Json& one) {
        if (one.is_string()) {
            prompts.push_back(raw_prompt(tokenizer, one.get_ref<const std::string&>()).ids);
        } else if (auto ids = one.is_array() ? read_ids(one, tokenizer.vocab_size()) : std::nullopt) {
            prompts.push_back(std::move(*ids));
        } else {
            fields.expected("prompt", fmt::format("texts, or token ids below {}", tokenizer.vocab_size()),
                            one);
        }
    };
    const bool is_list = prompt->is_array() && !prompt->empty() && !prompt->front().is_number();
    if (!is_list) take(*prompt);
    else if (prompt->size() > k_most_prompts)
        fields.fail("prompt",
                    fmt::format("prompt takes at most {} prompts, not {}.", k_most_prompts, prompt->size()));
    else
        for (const Json& one : *prompt) take(one);
    return prompts;
}

void read_completion(JsonFields& fields, Request request, const ServedModel& model, OpenAiCall& call) {
    const Tokenizer& tokenizer = model.tokenizer;
    refuse_chat_fields(fields);
    read_completion_logprobs(fields, request);
    const auto best_of = fields.integer("best_of", 1, k_most_choices);
    if (best_of && *best_of != request.n_choices)
        fields.fail("best_of", "best_of is another number than n, but no choice is thrown away.");
    const bool echo = fields.boolean("echo").value_or(false);
    if (echo && request.top_logprobs)
        fields.fail("echo", "echo with logprobs: logprobs are those of the answer alone.");
    PromptIds prompts = read_prompts(fields, tokenizer);
    if (prompts.size() * static_cast<size_t>(request.n_choices) > k_most_choices_of_call)
        fields.fail("n", fmt::format("n is {} for {} prompts, but a request has at most {} choices.",
                                     request.n_choices, prompts.size(), k_most_choices_of_call));
    for (std::vector<int32_t>& ids : prompts) {
        if (echo) call.echoes.push_back(mend_utf8(tokenizer.decode(ids, false)));
        request.prompt = std::move(ids);
        call.requests.push_back(request);
    }
    check_lengths(fields, "prompt", call, model.n_ctx);
}

// add_generation_prompt and continue_final_message are vLLM's: a last message of the assistant is gone on
// with.
void read_prefill(JsonFields& fields, ChatDraft& draft) {
    draft.continue_last = fields.boolean("continue_final_message").value_or(false);
    if (!fields.boolean("add_generation_prompt").value_or(true) && !draft.continue_last)
        fields.fail(
            "add_generation_prompt",
            "add_generation_prompt is false without continue_final_message, but a chat is always answered.");
}

// llama-server's word for where thinking goes.
void read_reasoning_format(JsonFields& fields, ChatDraft& draft) {
    const std::string format = fields.text("reasoning_format").value_or("auto");
    draft.split_thinking = format != "none";
    if (format != "none" && format != "auto" && format != "deepseek" && format != "deepseek-legacy")
        fields.fail("reasoning_format", fmt::format("reasoning_format takes none, auto or deepseek, not {}.",
                                                    printable(format, 60)));
}

void read_chat(JsonFields& fields, Request request, const ServedModel& model, OpenAiCall& call) {
    read_chat_logprobs(fields, request);
    ChatDraft draft;
    draft.messages = read_messages(fields);
    draft.tools = read_tools(fields);
    draft.choice_field = fields.find("tool_choice") ? "tool_choice" : "function_call";
    read_effort(fields, "reasoning_effort", draft);
    read_prefill(fields, draft);
    read_reasoning_format(fields, draft);
    if (const Json* kwargs = fields.find("chat_template_kwargs")) {
        if (kwargs->is_object()) draft.extra.update(*kwargs);
        else fields.expected("chat_template_kwargs", "an object", *kwargs);
    }
    finish_chat(fields, std::move(draft), std::move(request), model, call);
}

}  // namespace

std::optional<OpenAiRoute> openai_route(std::string_view url) {
    if (url == "/v1/completions") return OpenAiRoute::completions;
    if (url == "/v1/chat/completions") return OpenAiRoute::chat;
    return std::nullopt;
}

ParsedCall parse_openai(OpenAiRoute route, const Json& body, const ServedModel& model) {
    if (!body.is_object()) return {std::nullopt, {.message = "the body is no JSON object."}};
    std::optional<ApiError> error;
    JsonFields fields(body, error);
    OpenAiCall call;
    call.route = route;
    call.model = fields.text("model").value_or("");
    refuse_unoffered(fields);
    read_stream(fields, call, error);
    Request request = read_sampling(fields, model.defaults, model.tokenizer, {.hottest = k_openai_hottest});
    if (!error && route == OpenAiRoute::chat) read_chat(fields, std::move(request), model, call);
    else if (!error) read_completion(fields, std::move(request), model, call);
    if (error) return {std::nullopt, std::move(*error)};
    return {std::move(call), {}};
}

}  // namespace ft
