#include "server/chat_messages.h"

#include <algorithm>

#include "server/openai_request.h"

namespace ft {

namespace {

using Json = JsonFields::Json;

constexpr std::string_view k_roles[] = {"system", "user", "assistant", "tool"};

// The text of a content that is a list of parts.
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
        if (type != "text" && type != "input_text" && type != "refusal") {
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
    return message;
}

}  // namespace

Json read_messages(JsonFields& fields) {
    Json messages = Json::array();
    const Json* sent = fields.find("messages");
    if (!sent || !sent->is_array() || sent->empty() || sent->size() > k_most_messages) {
        fields.expected("messages", fmt::format("a list of 1 to {} messages", k_most_messages),
                        sent ? *sent : Json());
        return messages;
    }
    for (size_t i = 0; i < sent->size() && !fields.failed(); i++)
        if (std::optional<Json> message = read_message((*sent)[i], fmt::format("messages[{}]", i), fields))
            messages.push_back(std::move(*message));
    return messages;
}

}  // namespace ft
