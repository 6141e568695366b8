#include "server/chat_request.h"

#include <algorithm>
#include <array>

#include "server/chat_messages.h"
#include "server/chat_render.h"
#include "server/tools/forced_call.h"
#include "text/prompt.h"
#include "text/think_filter.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// Takes the text of a last message of the assistant out of the messages.
std::string take_prefill(ChatDraft& draft) {
    if (!draft.continue_last || draft.messages.empty()) return "";
    const Json& last = draft.messages.back();
    if (last["role"] != "assistant" || last.contains("tool_calls")) return "";
    std::string text = last["content"].get<std::string>();
    draft.messages.erase(draft.messages.size() - 1);
    return text;
}

ChatContext context_of(ChatDraft& draft, const RequestDefaults& defaults) {
    ChatContext context;
    context.messages = std::move(draft.messages);
    if (!defaults.system.empty() && !context.messages.empty() && context.messages[0]["role"] != "system")
        context.messages.insert(context.messages.begin(),
                                Json{{"role", "system"}, {"content", defaults.system}});
    merge_leading_systems(context.messages);
    if (draft.tools.any()) context.tools = draft.tools.list;
    context.enable_thinking = draft.think ? draft.think : defaults.think;
    context.extra = std::move(draft.extra);
    return context;
}

}  // namespace

void finish_chat(JsonFields& fields, ChatDraft draft, Request request, const ServedModel& model,
                 OpenAiCall& call) {
    if (fields.failed()) return;
    if (!model.chat_template)
        return fields.fail(draft.field,
                           fmt::format("{}: this model has no chat template. Use /v1/completions, or "
                                       "/generate with raw.",
                                       draft.field));
    const bool formed = request.grammar != nullptr;  // such an answer is no call, whatever it looks like
    force_call(draft.tools, draft.choice_field, model.tokenizer, fields, request);
    const std::string prefill = take_prefill(draft);
    const bool begun = !prefill.empty();  // there is no more thinking in such an answer
    if (begun) draft.think = false;
    if (fields.failed()) return;
    if (!formed) call.tools = tool_rules(draft.tools);
    Expected<std::string> text =
        render_chat(*model.chat_template, model.tokenizer, context_of(draft, model.defaults));
    if (!text) return fields.fail(draft.field, fmt::format("{}: {}", draft.field, text.error().sentence()));
    if (begun && opens_thinking(*text)) *text += "\n</think>\n\n";
    *text += prefill;
    call.split_thinking = draft.split_thinking && !begun;
    call.inside_thinking = call.split_thinking && opens_thinking(*text);
    Prompt prompt = raw_prompt(model.tokenizer, *text);
    prompt.inside_thinking = opens_thinking(*text);
    prompt.thinking_is_over = begun || closes_thinking(*text);
    request.grammar_start = start_of_grammar(prompt);
    request.prompt = std::move(prompt.ids);
    call.prompt_text = std::move(*text);
    call.requests.push_back(std::move(request));
    check_lengths(fields, draft.field, call, model.n_ctx);
}

void read_effort(JsonFields& fields, const char* name, ChatDraft& draft) {
    constexpr std::array k_efforts = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
    const std::optional<std::string> effort = fields.text(name);
    if (!effort) return;
    const auto at = std::find(k_efforts.begin(), k_efforts.end(), *effort);
    if (at == k_efforts.end())
        return fields.expected(name, "none, minimal, low, medium, high, xhigh or max", *effort);
    draft.think = at - k_efforts.begin() >= 2;
    draft.extra["reasoning_effort"] = *effort;
}

void check_lengths(JsonFields& fields, const char* name, const OpenAiCall& call, int64_t n_ctx) {
    for (const Request& request : call.requests) {
        const auto n = static_cast<int64_t>(request.prompt.size());
        if (n == 0) fields.fail(name, fmt::format("{}: the prompt is empty.", name));
        if (n < n_ctx) continue;
        fields.fail(ApiError{
            .message = fmt::format("the prompt has {} tokens, but the context has room for {}, answer "
                                   "included. Shorten it, or raise kv_cache.max_context where the "
                                   "model has more.",
                                   n, n_ctx),
            .type = "exceed_context_size_error",
            .param = name,
            .code = "context_length_exceeded",
            .extra = {{"n_prompt_tokens", n}, {"n_ctx", n_ctx}}});
    }
}

}  // namespace ft
