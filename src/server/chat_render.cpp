#include "server/chat_render.h"

#include <algorithm>
#include <utility>

#include "server/event_lines.h"
#include "text/prompt.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

struct ChatForm {
    bool text_arguments = false;
    bool fold_systems = false;
    bool tools_as_text = false;
    bool no_system = false;  // the first system message is one of the user too
};

// What a conversation holds that a template may not know.
struct ChatNeeds {
    bool calls = false, results = false, late_system = false;
};

ChatNeeds needs_of(const Json& messages) {
    ChatNeeds needs;
    for (size_t i = 0; i < messages.size(); i++) {
        needs.calls |= messages[i].contains("tool_calls");
        needs.results |= messages[i]["role"] == "tool";
        needs.late_system |= i > 0 && messages[i]["role"] == "system";
    }
    return needs;
}

std::vector<ChatForm> forms_for(const ChatContext& context) {
    const ChatNeeds needs = needs_of(context.messages);
    std::vector<ChatForm> forms = {{}};
    if (needs.calls) forms.push_back({.text_arguments = true});
    forms.push_back({.fold_systems = true});
    if (needs.calls && needs.late_system) forms.push_back({.text_arguments = true, .fold_systems = true});
    const bool tools = needs.calls || needs.results || !context.tools.is_null();
    if (tools) forms.push_back({.fold_systems = true, .tools_as_text = true});
    forms.push_back({.fold_systems = true, .tools_as_text = tools, .no_system = true});
    return forms;
}

std::string call_text(const Json& call) {
    const Json& function = call["function"];
    return "<tool_call>\n" + json_line({{"name", function["name"]}, {"arguments", function["arguments"]}}) +
           "\n</tool_call>";
}

std::string tools_text(const Json& tools) {
    std::string text =
        "You can call functions. To call one, write\n<tool_call>\n{\"name\": \"the function\", "
        "\"arguments\": "
        "{\"its\": \"arguments\"}}\n</tool_call>\nand nothing after it. Its result comes between "
        "<tool_response> and "
        "</tool_response>. These are the functions:";
    for (const Json& tool : tools) text += "\n" + json_line(tool["function"]);
    return text;
}

void say_tools_as_text(Json& message) {
    if (message["role"] == "tool") {
        message = {
            {"role", "user"},
            {"content", "<tool_response>\n" + message["content"].get<std::string>() + "\n</tool_response>"}};
        return;
    }
    const auto calls = message.find("tool_calls");
    if (calls == message.end()) return;
    std::string text = message["content"].get<std::string>();
    for (const Json& call : *calls) text += (text.empty() ? "" : "\n") + call_text(call);
    message["content"] = std::move(text);
    message.erase("tool_calls");
}

void say_arguments_as_text(Json& message) {
    const auto calls = message.find("tool_calls");
    if (calls == message.end()) return;
    for (Json& call : *calls) {
        Json& arguments = call["function"]["arguments"];
        if (!arguments.is_string()) arguments = json_line(arguments);
    }
}

// Adds a message, or its text to one of the same role before it.
void add_message(Json message, bool join, Json& messages) {
    const bool plain = !message.contains("tool_calls") && message["role"] != "tool";
    if (join && plain && !messages.empty() && messages.back()["role"] == message["role"] &&
        !messages.back().contains("tool_calls")) {
        std::string& text = messages.back()["content"].get_ref<std::string&>();
        text += (text.empty() ? "" : "\n\n") + message["content"].get<std::string>();
    } else {
        messages.push_back(std::move(message));
    }
}

void describe_tools(const Json& tools, Json& messages) {
    if (messages.empty() || messages[0]["role"] != "system")
        messages.insert(messages.begin(), Json{{"role", "system"}, {"content", ""}});
    std::string& text = messages[0]["content"].get_ref<std::string&>();
    text += (text.empty() ? "" : "\n\n") + tools_text(tools);
}

ChatContext in_form(const ChatContext& context, const ChatForm& form) {
    ChatContext out = context;
    if (form.tools_as_text && !out.tools.is_null())
        describe_tools(std::exchange(out.tools, nullptr), out.messages);
    Json messages = std::exchange(out.messages, Json::array());
    for (size_t i = 0; i < messages.size(); i++) {
        Json& message = messages[i];
        if ((form.no_system || (form.fold_systems && i > 0)) && message["role"] == "system")
            message["role"] = "user";
        if (form.text_arguments) say_arguments_as_text(message);
        if (form.tools_as_text) say_tools_as_text(message);
        add_message(std::move(message), form.fold_systems, out.messages);
    }
    return out;
}

// The longest part of a text that no template writes otherwise: escapes, quotes and line ends are left out.
std::string_view probe_of(std::string_view text) {
    constexpr std::string_view k_altered = " \t\r\n\"'\\<>&/{}";
    constexpr size_t k_longest = 64;
    std::string_view best;
    for (size_t at = 0; at < text.size() && best.size() < k_longest;) {
        const size_t end = std::min(text.find_first_of(k_altered, at), text.size());
        if (end - at > best.size()) best = text.substr(at, end - at);
        at = end + 1;
    }
    return best.substr(0, k_longest);
}

// Whether everything that was said to the model is in the text.
bool shows_all(std::string_view text, const ChatContext& context) {
    constexpr int k_most_searches = 64;  // from the beginning, where a part is not behind the one before it
    int searches = 0;
    size_t at = 0;
    const auto shows = [&](std::string_view part) {
        const size_t found = text.find(part, at);
        if (found != std::string_view::npos) at = found;
        else if (++searches > k_most_searches || text.find(part) == std::string_view::npos) return false;
        return true;
    };
    for (const Json& message : context.messages) {
        if (message["role"] != "assistant" &&
            !shows(probe_of(message["content"].get_ref<const std::string&>())))
            return false;
        if (const auto calls = message.find("tool_calls"); calls != message.end())
            for (const Json& call : *calls)
                if (!shows(probe_of(call["function"]["name"].get_ref<const std::string&>()))) return false;
    }
    if (context.tools.is_null() || context.tools.empty()) return true;
    at = 0;
    return shows(context.tools.back()["function"]["name"].get_ref<const std::string&>());
}

}  // namespace

Expected<std::string> render_chat(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                  const ChatContext& context) {
    std::optional<Expected<std::string>> first;  // that could be rendered, or else that could not
    for (const ChatForm& form : forms_for(context)) {
        Expected<std::string> text = chat_text(chat_template, tokenizer, in_form(context, form));
        if (text && shows_all(*text, context)) return text;
        if (!first || (!*first && text)) first = std::move(text);
    }
    return std::move(*first);
}

}  // namespace ft
