#include "server/chat_messages.h"

#include <algorithm>
#include <map>

#include "server/json_body.h"
#include "server/openai_request.h"

namespace ft {

namespace {

using Json = JsonFields::Json;

constexpr std::string_view k_roles[] = {"system", "user", "assistant", "tool"};

constexpr std::string_view k_text_parts[] = {"text",    "input_text",   "output_text",
                                             "refusal", "summary_text", "reasoning_text"};

// {"function": {"name", "arguments"}}, with what else stands there.
std::optional<Json> read_call(const Json& sent, const std::string& name, JsonFields& fields) {
    const auto function = sent.is_object() ? sent.find("function") : sent.end();
    if (!sent.is_object() || function == sent.end() || !function->is_object()) {
        fields.expected(name, "an object with a function", sent);
        return std::nullopt;
    }
    const auto called = function->find("name");
    if (called == function->end() || !called->is_string()) {
        fields.fail(name + ".function.name", fmt::format("{}.function.name is missing, or no text.", name));
        return std::nullopt;
    }
    Json call = sent;
    const auto arguments = function->find("arguments");
    call["type"] = "function";
    call["function"]["arguments"] =
        arguments == function->end() ? Json::object() : arguments_object(*arguments);
    return call;
}

void read_calls(Json& message, const std::string& name, JsonFields& fields) {
    if (const auto old = message.find("function_call"); old != message.end() && old->is_object()) {
        message["tool_calls"] = Json::array({Json{{"type", "function"}, {"function", *old}}});
        message.erase("function_call");
    }
    const auto sent = message.find("tool_calls");
    if (sent == message.end()) return;
    if (sent->is_null() || (sent->is_array() && sent->empty())) {
        message.erase("tool_calls");
        return;
    }
    if (!sent->is_array()) return fields.expected(name, "a list of calls", *sent);
    Json calls = Json::array();
    for (size_t i = 0; i < sent->size() && !fields.failed(); i++)
        if (std::optional<Json> call = read_call((*sent)[i], fmt::format("{}[{}]", name, i), fields))
            calls.push_back(std::move(*call));
    *sent = std::move(calls);
}

std::optional<Json> read_content(const Json& message, const std::string& name, JsonFields& fields) {
    const auto at = message.find("content");
    if (at == message.end() || at->is_null()) {
        if (message["role"] == "assistant") return Json("");  // its tool calls are all it said
        fields.fail(name, fmt::format("{} is missing.", name));
        return std::nullopt;
    }
    if (at->is_string()) return *at;
    if (!at->is_array()) {
        fields.expected(name, "a text or a list of parts", *at);
        return std::nullopt;
    }
    const std::optional<std::string> text = join_parts(*at, name, fields);
    if (!text) return std::nullopt;
    return Json(*text);
}

std::optional<Json> read_message(const Json& sent, const std::string& name, JsonFields& fields) {
    if (!sent.is_object()) {
        fields.expected(name, "an object with role and content", sent);
        return std::nullopt;
    }
    Json message = sent;
    const auto role = message.find("role");
    if (role == message.end() || !role->is_string()) {
        fields.fail(name + ".role", fmt::format("{}.role is missing, or no text.", name));
        return std::nullopt;
    }
    if (*role == "developer") *role = "system";
    if (*role == "function") *role = "tool";
    if (std::find(std::begin(k_roles), std::end(k_roles), role->get_ref<const std::string&>()) ==
        std::end(k_roles)) {
        fields.expected(name + ".role", "system, developer, user, assistant or tool", *role);
        return std::nullopt;
    }
    std::optional<Json> content = read_content(message, name + ".content", fields);
    if (!content) return std::nullopt;
    message["content"] = std::move(*content);
    for (const char* other : {"reasoning", "thinking"})  // templates read reasoning_content
        if (const auto at = message.find(other);
            at != message.end() && at->is_string() && !message.contains("reasoning_content"))
            message["reasoning_content"] = *at;
    read_calls(message, name + ".tool_calls", fields);
    return message;
}

}  // namespace

std::optional<std::string> join_parts(const Json& parts, const std::string& name, JsonFields& fields) {
    std::string text;
    for (size_t i = 0; i < parts.size(); i++) {
        const std::string place = fmt::format("{}[{}]", name, i);
        const Json& part = parts[i];
        if (!part.is_object() || !part.contains("type") || !part["type"].is_string()) {
            fields.expected(place, "an object with a type", part);
            return std::nullopt;
        }
        const std::string& type = part["type"].get_ref<const std::string&>();
        const char* member = type == "refusal" ? "refusal" : "text";
        if (std::find(std::begin(k_text_parts), std::end(k_text_parts), type) == std::end(k_text_parts)) {
            fields.fail(place + ".type", fmt::format("{}.type is {}: this model reads text alone.", place,
                                                     printable(type, 60)));
            return std::nullopt;
        }
        if (!part.contains(member) || !part[member].is_string()) {
            fields.fail(place, fmt::format("{}.{} is missing, or no text.", place, member));
            return std::nullopt;
        }
        text += part[member].get_ref<const std::string&>();
    }
    return text;
}

Json arguments_object(const Json& arguments) {
    if (!arguments.is_string()) return arguments.is_null() ? Json::object() : arguments;
    const std::string& text = arguments.get_ref<const std::string&>();
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
    Expected<Json> parsed = parse_json(text);
    return parsed && parsed->is_object() ? std::move(*parsed) : arguments;
}

void name_results(Json& messages) {
    std::map<std::string, Json> names;  // of calls, by id
    for (Json& message : messages) {
        if (const auto calls = message.find("tool_calls"); calls != message.end())
            for (const Json& call : *calls)
                if (call.contains("id") && call["id"].is_string())
                    names[call["id"].get<std::string>()] = call["function"]["name"];
        if (message["role"] != "tool" || message.contains("name")) continue;
        const auto tool = message.find("tool_name");
        if (tool != message.end() && tool->is_string()) message["name"] = *tool;
        const auto id = message.find("tool_call_id");
        if (id == message.end() || !id->is_string()) continue;
        if (const auto name = names.find(id->get<std::string>()); name != names.end())
            message["name"] = name->second;
    }
}

void add_thinking_text(const std::string& text, Json& message) {
    Json& thinking = message["reasoning_content"];
    if (thinking.is_null()) thinking = text;
    else thinking.get_ref<std::string&>() += "\n\n" + text;
}

void merge_leading_systems(Json& messages) {
    size_t n = 0;
    while (n < messages.size() && messages[n]["role"] == "system") n++;
    if (n < 2) return;
    std::string text;
    for (size_t i = 0; i < n; i++) {
        if (i > 0) text += "\n\n";
        text += messages[i]["content"].get_ref<const std::string&>();
    }
    messages[0]["content"] = std::move(text);
    messages.erase(messages.begin() + 1, messages.begin() + static_cast<Json::difference_type>(n));
}

Json read_messages(JsonFields& fields, bool empty_is_fine) {
    Json messages = Json::array();
    const Json* sent = fields.find("messages");
    if (empty_is_fine && (!sent || (sent->is_array() && sent->empty()))) return messages;
    if (!sent || !sent->is_array() || sent->empty() || sent->size() > k_most_messages) {
        fields.expected("messages", fmt::format("a list of 1 to {} messages", k_most_messages),
                        sent ? *sent : Json());
        return messages;
    }
    for (size_t i = 0; i < sent->size() && !fields.failed(); i++)
        if (std::optional<Json> message = read_message((*sent)[i], fmt::format("messages[{}]", i), fields))
            messages.push_back(std::move(*message));
    if (!fields.failed()) name_results(messages);
    return messages;
}

}  // namespace ft
