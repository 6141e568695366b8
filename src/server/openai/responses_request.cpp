#include <algorithm>
#include <utility>

#include "server/chat_messages.h"
#include "server/chat_request.h"
#include "server/constraint_fields.h"
#include "server/dialects.h"
#include "server/sampling_fields.h"
#include "server/unoffered_fields.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// What the hosted service keeps or does by itself.
void refuse_state(JsonFields& fields) {
    struct Stateful {
        const char* name;
        const char* why;
    };
    constexpr Stateful k_stateful[] = {
        {"previous_response_id", "answers are not kept. Send the whole conversation as input"},
        {"conversation", "conversations are not kept. Send the whole conversation as input"},
        {"prompt", "prompts are not kept. Send input and instructions"},
    };
    for (const auto& [name, why] : k_stateful)
        if (fields.find(name)) fields.fail(name, fmt::format("{} is given, but {}.", name, why));
    if (fields.boolean("background").value_or(false))
        fields.fail("background", "background is true, but answers are not kept to be fetched later.");
}

// The messages that the items of an input make; calls that follow each other are one message's.
class InputItems {
 public:
    explicit InputItems(JsonFields& fields) : fields_(fields) {}

    void add(const Json& item, const std::string& place) {
        if (!item.is_object()) return fields_.expected(place, "an object", item);
        const auto at = item.find("type");
        const std::string type = at != item.end() && at->is_string() ? at->get<std::string>() : "message";
        if (type == "message") add_message(item, place);
        else if (type == "function_call") add_call(item, place);
        else if (type == "function_call_output") add_result(item, place);
        else if (type == "reasoning") add_reasoning(item, place);
        else
            fields_.fail(place + ".type",
                         fmt::format("{}.type is {}, which is not offered.", place, printable(type, 60)));
    }

    Json take() {
        name_results(messages_);
        return std::move(messages_);
    }

 private:
    std::optional<std::string> text_of(const Json& holder, const char* member, const std::string& place) {
        const auto at = holder.find(member);
        const std::string name = fmt::format("{}.{}", place, member);
        if (at != holder.end() && at->is_string()) return at->get<std::string>();
        if (at != holder.end() && at->is_array()) return join_parts(*at, name, fields_);
        fields_.fail(name, fmt::format("{} is missing, or no text or list of parts.", name));
        return std::nullopt;
    }

    void add_message(const Json& item, const std::string& place) {
        const auto role = item.find("role");
        if (role == item.end() ||
            (*role != "user" && *role != "assistant" && *role != "system" && *role != "developer"))
            return fields_.expected(place + ".role", "user, assistant, system or developer",
                                    role == item.end() ? Json() : *role);
        const std::optional<std::string> text = text_of(item, "content", place);
        if (!text) return;
        Json message = {{"role", *role == "developer" ? Json("system") : *role}, {"content", *text}};
        if (*role == "assistant") add_thinking(message);
        else thinking_.clear();  // of an answer that was cut before it was said
        messages_.push_back(std::move(message));
    }

    void add_call(const Json& item, const std::string& place) {
        const auto name = item.find("name"), id = item.find("call_id"), arguments = item.find("arguments");
        if (name == item.end() || !name->is_string())
            return fields_.fail(place + ".name", fmt::format("{}.name is missing, or no text.", place));
        Json call = {
            {"type", "function"},
            {"function",
             {{"name", *name},
              {"arguments", arguments == item.end() ? Json::object() : arguments_object(*arguments)}}}};
        if (id != item.end()) call["id"] = *id;
        if (messages_.empty() || messages_.back()["role"] != "assistant")
            messages_.push_back({{"role", "assistant"}, {"content", ""}});
        add_thinking(messages_.back());
        messages_.back()["tool_calls"].push_back(std::move(call));
    }

    void add_result(const Json& item, const std::string& place) {
        const std::optional<std::string> text = text_of(item, "output", place);
        if (!text) return;
        Json message = {{"role", "tool"}, {"content", *text}};
        if (const auto id = item.find("call_id"); id != item.end()) message["tool_call_id"] = *id;
        messages_.push_back(std::move(message));
    }

    // Thinking belongs to the message or the call behind it.
    void add_reasoning(const Json& item, const std::string& place) {
        for (const char* member : {"content", "summary"}) {
            const auto at = item.find(member);
            if (at == item.end() || !at->is_array() || at->empty()) continue;
            if (const auto text = join_parts(*at, fmt::format("{}.{}", place, member), fields_))
                thinking_ += *text;
            return;
        }
    }

    void add_thinking(Json& message) {
        if (!thinking_.empty()) add_thinking_text(std::exchange(thinking_, ""), message);
    }

    JsonFields& fields_;
    Json messages_ = Json::array();
    std::string thinking_;
};

Json read_input(JsonFields& fields) {
    InputItems items(fields);
    if (const auto instructions = fields.text("instructions"); instructions && !instructions->empty())
        items.add({{"role", "system"}, {"content", *instructions}}, "instructions");
    const Json* input = fields.find("input");
    if (!input) fields.fail("input", "input is missing.");
    else if (input->is_string()) items.add({{"role", "user"}, {"content", *input}}, "input");
    else if (!input->is_array() || input->empty() || input->size() > k_most_messages)
        fields.expected("input", fmt::format("a text or a list of 1 to {} items", k_most_messages), *input);
    else
        for (size_t i = 0; i < input->size() && !fields.failed(); i++)
            items.add((*input)[i], fmt::format("input[{}]", i));
    return items.take();
}

// Tools that a hosted service runs itself are left out: the model is not told of them. Some have a date
// behind their names.
bool is_hosted_tool(const Json& type) {
    constexpr std::string_view k_hosted[] = {"web_search",       "file_search", "code_interpreter",
                                             "image_generation", "mcp",         "computer_use",
                                             "local_shell"};
    if (!type.is_string()) return false;
    const std::string_view word = type.get_ref<const std::string&>();
    return std::any_of(std::begin(k_hosted), std::end(k_hosted), [&](std::string_view name) {
        return word == name || (word.starts_with(name) && word[name.size()] == '_');
    });
}

ToolOffer read_flat_tools(JsonFields& fields) {
    ToolOffer offer;
    const Json* tools = fields.find("tools");
    if (tools && !tools->is_array()) fields.expected("tools", "a list of functions", *tools);
    for (size_t i = 0; tools && i < tools->size() && !fields.failed(); i++) {
        const Json& tool = (*tools)[i];
        const std::string place = fmt::format("tools[{}]", i);
        const auto type = tool.is_object() ? tool.find("type") : tool.end();
        if (!tool.is_object() || type == tool.end()) fields.expected(place, "an object with a type", tool);
        else if (*type == "function") add_tool(tool, "parameters", place, fields, offer);
        else if (!is_hosted_tool(*type))
            fields.fail(place + ".type",
                        fmt::format("{}.type is {}, but tools are functions here.", place, shown(*type)));
    }
    read_choice(fields, offer);
    offer.parallel = fields.boolean("parallel_tool_calls").value_or(true);
    return offer;
}

// The number that is nearest in decimal: 0.7, where a float has 0.699999988.
Json short_number(float number) { return Json::parse(fmt::format("{}", number)); }

// What every response object repeats; the official clients want some of it in each event.
Json repeated_fields(const JsonFields& fields, const Request& request, const ToolOffer& tools) {
    const auto or_else = [&](const char* name, Json fallback) {
        const Json* value = fields.find(name);
        return value ? *value : std::move(fallback);
    };
    return {{"instructions", or_else("instructions", nullptr)},
            {"max_output_tokens", or_else("max_output_tokens", nullptr)},
            {"metadata", or_else("metadata", Json::object())},
            {"parallel_tool_calls", tools.parallel},
            {"previous_response_id", nullptr},
            {"reasoning", or_else("reasoning", Json{{"effort", nullptr}, {"summary", nullptr}})},
            {"store", false},
            {"temperature", short_number(request.sampling.temperature)},
            {"text", or_else("text", Json{{"format", {{"type", "text"}}}})},
            {"tool_choice", or_else("tool_choice", "auto")},
            {"tools", or_else("tools", Json::array())},
            {"top_p", short_number(request.sampling.top_p)},
            {"truncation", or_else("truncation", "disabled")},
            {"user", or_else("user", nullptr)}};
}

}  // namespace

Json read_responses(JsonFields& fields, const ServedModel& model, OpenAiCall& call) {
    call.route = OpenAiRoute::chat;
    call.model = fields.text("model").value_or("");
    call.stream = fields.boolean("stream").value_or(false);
    refuse_unoffered(fields);
    refuse_state(fields);
    Request request = read_sampling(fields, model.defaults, model.tokenizer,
                                    {.lengths = {"max_output_tokens"}, .hottest = 2});
    open_top_p(fields, model.defaults, request);
    if (request.n_choices != 1) fields.fail("n", "n: /v1/responses gives one answer.");
    ChatDraft draft;
    draft.field = "input";
    draft.messages = read_input(fields);
    draft.tools = read_flat_tools(fields);
    if (const Json* reasoning = fields.find("reasoning")) {
        if (!reasoning->is_object()) fields.expected("reasoning", "an object", *reasoning);
        else {
            JsonFields inner = fields.within(*reasoning, "reasoning");
            read_effort(inner, "effort", draft);
        }
    }
    if (const Json* text = fields.find("text")) {
        if (!text->is_object()) fields.expected("text", "an object", *text);
        else if (const auto format = text->find("format"); format != text->end() && !format->is_null())
            read_answer_format(fields, "text.format", *format, model.tokenizer, request);
    }
    Json repeated = repeated_fields(fields, request, draft.tools);
    finish_chat(fields, std::move(draft), std::move(request), model, call);
    return repeated;
}

}  // namespace ft
