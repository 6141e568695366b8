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

// The turns of a conversation in Anthropic's blocks, as messages that templates read.
class AnthropicTurns {
 public:
    explicit AnthropicTurns(JsonFields& fields) : fields_(fields) {}

    void add_system(const Json& system, const std::string& place) {
        if (const auto text = text_of(system, place); text && !text->empty())
            messages_.push_back({{"role", "system"}, {"content", *text}});
    }

    void add(const Json& message, const std::string& place) {
        if (!message.is_object()) return fields_.expected(place, "an object with role and content", message);
        const auto role = message.find("role"), content = message.find("content");
        if (role == message.end() || (*role != "user" && *role != "assistant" && *role != "system"))
            return fields_.expected(place + ".role", "user or assistant",
                                    role == message.end() ? Json() : *role);
        const std::string name = place + ".content";
        if (content == message.end() || content->is_null())
            return fields_.fail(name, fmt::format("{} is missing.", name));
        if (*role == "system") return add_system(*content, name);
        if (content->is_string()) say(*role, content->get<std::string>());
        else if (!content->is_array()) fields_.expected(name, "a text or a list of blocks", *content);
        else if (content->empty()) say(*role, "");
        else
            for (size_t i = 0; i < content->size() && !fields_.failed(); i++)
                add_block(*role, (*content)[i], fmt::format("{}[{}]", name, i));
    }

    Json take() {
        name_results(messages_);
        return std::move(messages_);
    }

 private:
    void add_block(const Json& role, const Json& block, const std::string& place) {
        const auto at = block.is_object() ? block.find("type") : block.end();
        if (!block.is_object() || at == block.end() || !at->is_string())
            return fields_.expected(place, "an object with a type", block);
        const std::string& type = at->get_ref<const std::string&>();
        if (type == "text") {
            if (const auto text = member(block, "text", place)) say(role, *text);
        } else if (type == "thinking") {
            if (const auto text = member(block, "thinking", place)) add_thinking_text(*text, turn_of(role));
        } else if (type == "tool_use") {
            add_call(block, place);
        } else if (type == "tool_result") {
            add_result(block, place);
        } else if (type == "document" || type == "search_result") {
            add_document(role, block, place);
        } else if (type != "redacted_thinking") {
            fields_.fail(place + ".type", fmt::format("{}.type is {}: this model reads text alone.", place,
                                                      printable(type, 60)));
        }
    }

    std::optional<std::string> member(const Json& block, const char* name, const std::string& place) {
        const auto at = block.find(name);
        if (at != block.end() && at->is_string()) return at->get<std::string>();
        fields_.fail(fmt::format("{}.{}", place, name),
                     fmt::format("{}.{} is missing, or no text.", place, name));
        return std::nullopt;
    }

    // A text, or blocks of text.
    std::optional<std::string> text_of(const Json& content, const std::string& place) {
        if (content.is_string()) return content.get<std::string>();
        if (content.is_array()) return join_blocks(content, place);
        fields_.expected(place, "a text or a list of blocks", content);
        return std::nullopt;
    }

    // Blocks of text are paragraphs.
    std::optional<std::string> join_blocks(const Json& blocks, const std::string& place) {
        std::string text;
        for (size_t i = 0; i < blocks.size(); i++) {
            const auto part = join_parts(Json::array({blocks[i]}), fmt::format("{}[{}]", place, i), fields_);
            if (!part) return std::nullopt;
            if (i > 0) text += "\n\n";
            text += *part;
        }
        return text;
    }

    // The message that a role is in the middle of: neighbours of one role are one turn.
    Json& turn_of(const Json& role) {
        if (messages_.empty() || messages_.back()["role"] != role)
            messages_.push_back({{"role", role}, {"content", ""}});
        return messages_.back();
    }

    void say(const Json& role, const std::string& text) {
        std::string& content = turn_of(role)["content"].get_ref<std::string&>();
        if (!content.empty() && !text.empty()) content += "\n\n";
        content += text;
    }

    void add_call(const Json& block, const std::string& place) {
        const auto name = member(block, "name", place);
        const auto input = block.find("input"), id = block.find("id");
        if (!name) return;
        if (input != block.end() && !input->is_object())
            return fields_.expected(place + ".input", "an object", *input);
        Json call = {
            {"type", "function"},
            {"function", {{"name", *name}, {"arguments", input == block.end() ? Json::object() : *input}}}};
        if (id != block.end()) call["id"] = *id;
        turn_of("assistant")["tool_calls"].push_back(std::move(call));
    }

    void add_result(const Json& block, const std::string& place) {
        const auto content = block.find("content"), id = block.find("tool_use_id"),
                   failed = block.find("is_error");
        std::string text = failed != block.end() && *failed == true ? "Error: " : "";
        if (content != block.end() && !content->is_null()) {
            const auto said = text_of(*content, place + ".content");
            if (!said) return;
            text += *said;
        }
        Json message = {{"role", "tool"}, {"content", std::move(text)}};
        if (id != block.end()) message["tool_call_id"] = *id;
        messages_.push_back(std::move(message));
    }

    // {"title", "source": {"type": "text", "data"}} or {"title", "content": blocks of text}
    void add_document(const Json& role, const Json& block, const std::string& place) {
        const auto source = block.find("source"), content = block.find("content"),
                   title = block.find("title");
        std::optional<std::string> text;
        if (content != block.end()) text = text_of(*content, place + ".content");
        else if (source != block.end() && source->is_object() && source->contains("type") &&
                 (*source)["type"] == "text")
            text = member(*source, "data", place + ".source");
        else
            fields_.fail(
                place, fmt::format("{} is a document that is no text: this model reads text alone.", place));
        if (!text) return;
        const bool titled = title != block.end() && title->is_string();
        say(role, titled ? title->get<std::string>() + "\n" + *text : *text);
    }

    JsonFields& fields_;
    Json messages_ = Json::array();
};

Json read_turns(JsonFields& fields) {
    AnthropicTurns turns(fields);
    if (const Json* system = fields.find("system")) turns.add_system(*system, "system");
    const Json* messages = fields.find("messages");
    if (!messages || !messages->is_array() || messages->empty() || messages->size() > k_most_messages)
        fields.expected("messages", fmt::format("a list of 1 to {} messages", k_most_messages),
                        messages ? *messages : Json());
    else
        for (size_t i = 0; i < messages->size() && !fields.failed(); i++)
            turns.add((*messages)[i], fmt::format("messages[{}]", i));
    return turns.take();
}

// auto, any, tool, none
void read_anthropic_choice(JsonFields& fields, ToolOffer& offer) {
    const Json* choice = fields.find("tool_choice");
    if (!choice) return;
    const std::string type = choice->is_object() && choice->contains("type") && (*choice)["type"].is_string()
                                 ? (*choice)["type"].get<std::string>()
                                 : "";
    if (type == "none") offer.choice = ToolOffer::Choice::none;
    else if (type == "any" || type == "tool") offer.choice = ToolOffer::Choice::required;
    else if (type != "auto")
        return fields.expected("tool_choice", "a type of auto, any, tool or none", *choice);
    JsonFields inner = fields.within(*choice, "tool_choice");
    if (type == "tool") {
        offer.only = inner.text("name").value_or("");
        if (offer.only.empty()) inner.fail("name", "tool_choice.name is missing.");
    }
    offer.parallel = !inner.boolean("disable_parallel_tool_use").value_or(false);
    if (!fields.failed()) check_choice(offer, "tool_choice", fields);
}

// Tools that the hosted service runs itself have a type of their own and no schema: the model is not told of
// them.
ToolOffer read_anthropic_tools(JsonFields& fields) {
    ToolOffer offer;
    const Json* tools = fields.find("tools");
    if (tools && !tools->is_array()) fields.expected("tools", "a list of tools", *tools);
    for (size_t i = 0; tools && i < tools->size() && !fields.failed(); i++) {
        const Json& tool = (*tools)[i];
        const bool hosted = tool.is_object() && tool.contains("type") && tool["type"] != "custom" &&
                            !tool["type"].is_null() && !tool.contains("input_schema");
        if (!hosted) add_tool(tool, "input_schema", fmt::format("tools[{}]", i), fields, offer);
    }
    read_anthropic_choice(fields, offer);
    return offer;
}

void read_thinking(JsonFields& fields, ChatDraft& draft) {
    const Json* thinking = fields.find("thinking");
    if (!thinking) return;
    if (!thinking->is_object()) return fields.expected("thinking", "an object with a type", *thinking);
    JsonFields inner = fields.within(*thinking, "thinking");
    const std::string type = inner.text("type").value_or("");
    if (type == "enabled") draft.think = true;
    else if (type == "disabled") draft.think = false;
    else if (type != "adaptive") inner.expected("type", "enabled, disabled or adaptive", Json(type));
}

void read_output_config(JsonFields& fields, const Tokenizer& tokenizer, ChatDraft& draft, Request& request) {
    const Json* config = fields.find("output_config");
    if (!config) return;
    if (!config->is_object()) return fields.expected("output_config", "an object", *config);
    JsonFields inner = fields.within(*config, "output_config");
    const std::optional<bool> think = draft.think;
    read_effort(inner, "effort", draft);
    if (think) draft.think = think;
    if (const Json* format = inner.find("format"))
        read_answer_format(fields, "output_config.format", *format, tokenizer, request);
}

}  // namespace

void read_anthropic(JsonFields& fields, const ServedModel& model, OpenAiCall& call) {
    call.route = OpenAiRoute::chat;
    call.model = fields.text("model").value_or("");
    call.stream = fields.boolean("stream").value_or(false);
    refuse_unoffered(fields);
    if (const Json* servers = fields.find("mcp_servers"); servers && !servers->empty())
        fields.fail("mcp_servers", "mcp_servers are given, but this server calls no others.");
    Request request = read_sampling(fields, model.defaults, model.tokenizer,
                                    {.stop = "stop_sequences", .lengths = {"max_tokens"}, .hottest = 2});
    if (request.n_choices != 1) fields.fail("n", "n: /v1/messages gives one answer.");
    ChatDraft draft;
    draft.continue_last = true;
    draft.messages = read_turns(fields);
    draft.tools = read_anthropic_tools(fields);
    read_thinking(fields, draft);
    read_output_config(fields, model.tokenizer, draft, request);
    finish_chat(fields, std::move(draft), std::move(request), model, call);
}

}  // namespace ft
