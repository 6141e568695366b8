#include "server/chat_request.h"
#include "server/dialects.h"
#include "server/sampling_fields.h"
#include "server/unoffered_fields.h"
#include "text/prompt.h"

namespace ft {

namespace {

// The prompt as the one turn of a user.
ChatDraft one_turn(JsonFields& fields, const std::string& prompt) {
    ChatDraft draft;
    draft.field = "prompt";
    if (const auto system = fields.text("system"); system && !system->empty())
        draft.messages.push_back({{"role", "system"}, {"content", *system}});
    draft.messages.push_back({{"role", "user"}, {"content", prompt}});
    read_effort(fields, "reasoning_effort", draft);
    if (const auto* kwargs = fields.find("chat_template_kwargs")) {
        if (kwargs->is_object()) draft.extra.update(*kwargs);
        else fields.expected("chat_template_kwargs", "an object", *kwargs);
    }
    return draft;
}

}  // namespace

void read_generate(JsonFields& fields, const ServedModel& model, OpenAiCall& call) {
    call.route = OpenAiRoute::chat;
    call.model = fields.text("model").value_or("");
    call.stream = fields.boolean("stream").value_or(false);
    refuse_unoffered(fields);
    refuse_chat_fields(fields);
    Request request = read_sampling(fields, model.defaults, model.tokenizer);
    if (request.n_choices != 1) fields.fail("n", "n: /generate gives one answer. Use /v1/completions.");
    if (const auto top = fields.integer("logprobs", 0, k_most_top_logprobs))
        request.top_logprobs = static_cast<int>(*top);
    const bool raw = fields.boolean("raw").value_or(false);
    const std::optional<std::string> prompt = fields.text("prompt");
    if (!prompt) fields.fail("prompt", "prompt is missing.");
    if (fields.failed()) return;
    if (!raw) return finish_chat(fields, one_turn(fields, *prompt), std::move(request), model, call);
    call.route = OpenAiRoute::completions;
    request.prompt = raw_prompt(model.tokenizer, *prompt).ids;
    call.requests.push_back(std::move(request));
    check_lengths(fields, "prompt", call, model.n_ctx);
}

}  // namespace ft
