#include "server/chat_request.h"

#include <algorithm>
#include <array>
#include <limits>

#include "server/chat_messages.h"
#include "server/chat_render.h"
#include "server/tools/forced_call.h"
#include "text/chat_history.h"
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
    const auto render = [&](const ChatContext& context) {
        Expected<std::string> text = render_chat(*model.chat_template, model.tokenizer, context);
        if (text && begun && opens_thinking(*text)) *text += "\n</think>\n\n";
        if (text) *text += prefill;
        return text;
    };
    const int64_t n_ctx = model.auto_evict ? model.n_ctx : std::numeric_limits<int64_t>::max();
    Expected<FittedPrompt> fitted =
        fitted_prompt(context_of(draft, model.defaults), model.tokenizer, n_ctx, render);
    if (!fitted)
        return fields.fail(draft.field, fmt::format("{}: {}", draft.field, fitted.error().sentence()));
    call.split_thinking = draft.split_thinking && !begun;
    call.inside_thinking = call.split_thinking && fitted->prompt.inside_thinking;
    call.dropped_turns = fitted->dropped_turns;
    request.dropped_tokens = fitted->dropped_tokens;
    if (begun) fitted->prompt.thinking_is_over = true;
    request.grammar_start = start_of_grammar(fitted->prompt);
    request.prompt = std::move(fitted->prompt.ids);
    call.prompt_text = std::move(fitted->text);
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
