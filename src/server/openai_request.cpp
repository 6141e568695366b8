#include "server/openai_request.h"

#include <algorithm>
#include <array>

#include "server/chat_messages.h"
#include "server/sampling_fields.h"
#include "text/prompt.h"
#include "text/utf8.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// Fields that would change the answer and are not offered: any other value than these is refused.
struct UnofferedField {
    const char* name;
    const char* harmless;  // a JSON list of the values that change nothing
    const char* why;
};

constexpr const char* k_not_yet = "constrained answers are not offered by this version";
constexpr const char* k_no_tools = "calls of tools are not offered by this version";

constexpr UnofferedField k_unoffered[] = {
    {"suffix", R"([""])", "filling in between two texts is not offered"},
    {"response_format", R"([{"type": "text"}])", k_not_yet},
    {"grammar", R"([""])", k_not_yet},
    {"json_schema", "[{}]", k_not_yet},
    {"guided_json", "[]", k_not_yet},
    {"guided_regex", R"([""])", k_not_yet},
    {"guided_choice", "[[]]", k_not_yet},
    {"guided_grammar", R"([""])", k_not_yet},
    {"structured_outputs", "[{}]", k_not_yet},
    {"tools", "[[]]", k_no_tools},
    {"functions", "[[]]", k_no_tools},
    {"tool_choice", R"(["none", "auto"])", k_no_tools},
    {"function_call", R"(["none", "auto"])", k_no_tools},
    {"modalities", R"([["text"]])", "answers are text alone"},
    {"audio", "[]", "answers are text alone"},
    {"chat_template", R"([""])", "the template is the server's to choose (model.template)"},
    {"add_generation_prompt", "[true]", "a chat is always answered"},
    {"continue_final_message", "[false]", "a chat is always answered by a new message"},
    {"add_special_tokens", "[true]", "BOS is added by the vocabulary's rule"},
    {"skip_special_tokens", "[true]", "special tokens never show"},
    {"include_stop_str_in_output", "[false]", "a stop text is never part of the answer"},
    {"min_tokens", "[0]", "an answer's least length cannot be set"},
    {"min_keep", "[0, 1]", "the samplers leave one token at least, and no other number"},
    {"length_penalty", "[1]", "there is no beam search"},
    {"use_beam_search", "[false]", "there is no beam search"},
    {"bad_words", "[[]]", "use logit_bias"},
    {"allowed_token_ids", "[[]]", "use logit_bias"},
    {"prompt_logprobs", "[0]", "logprobs are those of the answer alone"},
    {"post_sampling_probs", "[false]", "logprobs are those of the model, before sampling"},
    {"truncate_prompt_tokens", "[-1]", "a prompt is never cut silently"},
    {"dynatemp_range", "[0]", "the temperature does not change by itself"},
    {"samplers", "[]", "the order of the samplers is fixed"},
    {"lora", "[[]]", "adapters are not offered"},
};

void refuse_unoffered(JsonFields& fields) {
    for (const UnofferedField& field : k_unoffered) {
        const Json* value = fields.find(field.name);
        if (!value) continue;
        const Json harmless = Json::parse(field.harmless);
        if (std::find(harmless.begin(), harmless.end(), *value) == harmless.end())
            fields.fail(field.name, fmt::format("{} is {}, but {}.", field.name, shown(*value), field.why));
    }
}

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

void read_completion(JsonFields& fields, Request request, const Tokenizer& tokenizer, OpenAiCall& call) {
    read_completion_logprobs(fields, request);
    const auto best_of = fields.integer("best_of", 1, k_most_choices);
    if (best_of && *best_of != request.n_choices)
        fields.fail("best_of", "best_of is another number than n, but no choice is thrown away.");
    const bool echo = fields.boolean("echo").value_or(false);
    if (echo && request.top_logprobs)
        fields.fail("echo", "echo with logprobs: logprobs are those of the answer alone.");
    for (std::vector<int32_t>& ids : read_prompts(fields, tokenizer)) {
        if (echo) call.echoes.push_back(mend_utf8(tokenizer.decode(ids, false)));
        request.prompt = std::move(ids);
        call.requests.push_back(request);
    }
}

// none, minimal and so on, to the template's switch and its own word for it.
void read_effort(JsonFields& fields, ChatContext& context) {
    constexpr std::array k_efforts = {"none", "minimal", "low", "medium", "high", "xhigh"};
    const std::optional<std::string> effort = fields.text("reasoning_effort");
    if (!effort) return;
    const auto at = std::find(k_efforts.begin(), k_efforts.end(), *effort);
    if (at == k_efforts.end())
        return fields.expected("reasoning_effort", "none, minimal, low, medium, high or xhigh", *effort);
    context.enable_thinking = at - k_efforts.begin() >= 2;
    context.extra["reasoning_effort"] = *effort;
}

ChatContext read_context(JsonFields& fields, const RequestDefaults& defaults) {
    ChatContext context;
    context.enable_thinking = defaults.think;
    context.messages = read_messages(fields);
    if (!defaults.system.empty() && !context.messages.empty() && context.messages[0]["role"] != "system")
        context.messages.insert(context.messages.begin(),
                                Json{{"role", "system"}, {"content", defaults.system}});
    read_effort(fields, context);
    if (const Json* kwargs = fields.find("chat_template_kwargs")) {
        if (kwargs->is_object()) context.extra.update(*kwargs);
        else fields.expected("chat_template_kwargs", "an object", *kwargs);
    }
    return context;
}

void read_chat(JsonFields& fields, Request request, const ServedModel& model, OpenAiCall& call) {
    read_chat_logprobs(fields, request);
    ChatContext context = read_context(fields, model.defaults);
    if (fields.failed()) return;
    if (!model.chat_template)
        return fields.fail("messages", "messages: this model has no chat template. Use /v1/completions.");
    Expected<Prompt> prompt = chat_prompt(*model.chat_template, model.tokenizer, std::move(context));
    if (!prompt) return fields.fail("messages", "messages: " + prompt.error().sentence());
    call.inside_thinking = prompt->inside_thinking;
    request.prompt = std::move(prompt->ids);
    call.requests.push_back(std::move(request));
}

void check_lengths(JsonFields& fields, const OpenAiCall& call, int64_t n_ctx,
                   std::optional<ApiError>& error) {
    const char* name = call.route == OpenAiRoute::chat ? "messages" : "prompt";
    for (const Request& request : call.requests) {
        const auto n = static_cast<int64_t>(request.prompt.size());
        if (n == 0) fields.fail(name, fmt::format("{}: the prompt is empty.", name));
        if (n < n_ctx || error) continue;
        error = ApiError{
            .message = fmt::format("the prompt has {} tokens, but the context has room for {}, answer "
                                   "included. Shorten it, or raise kv_cache.max_context where the model "
                                   "has more.",
                                   n, n_ctx),
            .type = "exceed_context_size_error",
            .param = name,
            .code = "context_length_exceeded",
            .extra = {{"n_prompt_tokens", n}, {"n_ctx", n_ctx}}};
    }
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
    Request request = read_sampling(fields, model.defaults, model.tokenizer);
    if (!error && route == OpenAiRoute::chat) read_chat(fields, std::move(request), model, call);
    else if (!error) read_completion(fields, std::move(request), model.tokenizer, call);
    if (!error) check_lengths(fields, call, model.n_ctx, error);
    if (error) return {std::nullopt, std::move(*error)};
    return {std::move(call), {}};
}

}  // namespace ft
