#include "server/chat_messages.h"
#include "server/chat_request.h"
#include "server/constraint_fields.h"
#include "server/dialects.h"
#include "server/model_lists.h"
#include "server/sampling_fields.h"
#include "server/unoffered_fields.h"
#include "text/prompt.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

void check_model(JsonFields& fields, const std::string& served_name, OpenAiCall& call) {
    const std::optional<std::string> name = fields.text("model");
    if (!name || name->empty()) return fields.fail("model", "model is missing.");
    call.model = *name;
    if (!is_served_model(*name, served_name))
        fields.fail(ApiError{.status = 404,
                             .message = fmt::format("model '{}' not found: {} is served here.",
                                                    printable(*name, 100), printable(served_name, 100)),
                             .type = "not_found_error",
                             .param = "model",
                             .code = "model_not_found"});
}

void refuse_images(const Json& holder, const std::string& place, JsonFields& fields) {
    const auto images = holder.find("images");
    if (images == holder.end() || images->is_null() || (images->is_array() && images->empty())) return;
    fields.fail(place, fmt::format("{} are given: this model reads text alone, no images.", place));
}

// What would change the answer and is not offered: any value but an empty one.
void refuse_ollama_fields(const Json& body, JsonFields& fields) {
    struct Field {
        const char* name;
        const char* why;
    };
    constexpr Field k_fields[] = {
        {"suffix", "filling in between two texts is not offered"},
        {"template", "the template is the server's to choose (model.template)"},
        {"context", "earlier answers are not kept as ids. Use /api/chat"},
    };
    for (const auto& [name, why] : k_fields) {
        const Json* value = fields.find(name);
        if (value && *value != "" && !(value->is_array() && value->empty()))
            fields.fail(name, fmt::format("{} is given, but {}.", name, why));
    }
    refuse_images(body, "images", fields);
    refuse_unoffered(fields);
}

Request read_options(JsonFields& fields, const ServedModel& model) {
    const Json none = Json::object();
    const Json* options = fields.find("options");
    if (options && !options->is_object()) {
        fields.expected("options", "an object", *options);
        options = nullptr;
    }
    JsonFields inner = fields.within(options ? *options : none, "options");
    refuse_unoffered(inner);
    Request request =
        read_sampling(inner, model.defaults, model.tokenizer, {.lengths = {}, .open_length = "num_predict"});
    if (request.n_choices != 1) inner.fail("n", "options.n: there is one answer.");
    return request;
}

void read_ollama_logprobs(JsonFields& fields, Request& request) {
    const bool wanted = fields.boolean("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, k_most_top_logprobs);
    if (wanted) request.top_logprobs = static_cast<int>(top.value_or(0));
}

// true, false, or how much.
void read_think(JsonFields& fields, ChatDraft& draft) {
    const Json* think = fields.find("think");
    if (!think || *think == "") return;
    if (think->is_boolean()) draft.think = think->get<bool>();
    else if (think->is_string()) read_effort(fields, "think", draft);
    else fields.expected("think", "true, false, low, medium or high", *think);
}

// The messages of a chat, or the prompt as the one turn of a user. None: the model is only to be loaded.
Json read_ollama_messages(bool chat, JsonFields& fields) {
    if (chat) {
        const Json* sent = fields.find("messages");
        Json messages = read_messages(fields, true);
        for (size_t i = 0; sent && i < messages.size(); i++)
            refuse_images((*sent)[i], fmt::format("messages[{}].images", i), fields);
        return messages;
    }
    Json messages = Json::array();
    const std::string prompt = fields.text("prompt").value_or("");
    if (prompt.empty()) return messages;
    if (const auto system = fields.text("system"); system && !system->empty())
        messages.push_back({{"role", "system"}, {"content", *system}});
    messages.push_back({{"role", "user"}, {"content", prompt}});
    return messages;
}

void finish_raw(JsonFields& fields, const std::string& prompt, Request request, const ServedModel& model,
                OpenAiCall& call) {
    request.prompt = raw_prompt(model.tokenizer, prompt).ids;
    call.requests.push_back(std::move(request));
    check_lengths(fields, "prompt", call, model.n_ctx);
}

}  // namespace

void read_ollama(bool chat, JsonFields& fields, const ServedModel& model, const std::string& served_name,
                 OpenAiCall& call) {
    call.route = OpenAiRoute::chat;
    call.stream = fields.boolean("stream").value_or(true);
    check_model(fields, served_name, call);
    refuse_ollama_fields(fields.object(), fields);
    Request request = read_options(fields, model);
    read_ollama_logprobs(fields, request);
    read_ollama_format(fields, model.tokenizer, request);
    ChatDraft draft;
    draft.field = chat ? "messages" : "prompt";
    draft.continue_last = chat;
    draft.messages = read_ollama_messages(chat, fields);
    if (fields.failed() || draft.messages.empty()) return;
    if (!chat && fields.boolean("raw").value_or(false))
        return finish_raw(fields, draft.messages.back()["content"].get<std::string>(), std::move(request),
                          model, call);
    if (chat) draft.tools = read_tools(fields);
    read_think(fields, draft);
    finish_chat(fields, std::move(draft), std::move(request), model, call);
}

}  // namespace ft
