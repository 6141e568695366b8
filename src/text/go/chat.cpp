#include "text/go/chat.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "text/go/interpreter.h"

namespace ft::go {

namespace {

// Of the member of an object, where it is a text.
std::string member_text(const Json& object, const char* name) {
    const auto at = object.find(name);
    return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// A call or message has the members that fields.cpp names, and no others.
void copy_member(const Json& from, const char* name, Json& to) {
    if (const auto at = from.find(name); at != from.end() && !at->is_null()) to[name] = *at;
}

Json call_of(const Json& sent) {
    Json call = Json::object(), function = Json::object();
    if (!sent.is_object()) return call;
    copy_member(sent, "id", call);
    const auto at = sent.find("function");
    const Json& from = at != sent.end() && at->is_object() ? *at : sent;
    for (const char* name : {"index", "name", "arguments"}) copy_member(from, name, function);
    call["function"] = std::move(function);
    return call;
}

Json message_of(const Json& sent) {
    const std::string role = member_text(sent, "role");
    if (const auto content = sent.find("content");
        content != sent.end() && !content->is_null() && !content->is_string())
        throw jinja::Failure("the content of a message is no text");
    Json message = {{"role", role}, {"content", member_text(sent, "content")}};
    if (const std::string thinking = member_text(sent, "reasoning_content"); !thinking.empty())
        message["thinking"] = thinking;
    const auto calls = sent.find("tool_calls");
    if (calls != sent.end() && calls->is_array() && !calls->empty()) {
        message["tool_calls"] = Json::array();
        for (const Json& call : *calls) message["tool_calls"].push_back(call_of(call));
    }
    if (role == "tool") message["tool_name"] = member_text(sent, "name");
    copy_member(sent, "tool_call_id", message);
    return message;
}

bool joins(const Json& last, const Json& message) {
    return last["role"] == message["role"] && message["role"] != "tool" && !last.contains("tool_calls") &&
           !message.contains("tool_calls");
}

Json messages_of(const Json& context) {
    Json messages = Json::array();
    const auto sent = context.find("messages");
    if (sent == context.end() || !sent->is_array()) return messages;
    for (const Json& each : *sent) {
        if (!each.is_object()) throw jinja::Failure("a message is no object");
        Json message = message_of(each);
        if (!messages.empty() && joins(messages.back(), message))
            messages.back()["content"].get_ref<std::string&>() +=
                "\n\n" + message["content"].get_ref<const std::string&>();
        else messages.push_back(std::move(message));
    }
    return messages;
}

// What every rendering of a template gets.
Json settings_of(const Json& context) {
    const auto think = context.find("enable_thinking");
    const bool given = think != context.end() && think->is_boolean();
    const bool on = given && think->get<bool>();
    return {{"Response", ""},
            {"Think", on},
            {"ThinkLevel", on ? member_text(context, "reasoning_effort") : ""},
            {"IsThinkSet", given}};
}

std::string system_of(const Json& messages) {
    std::string text;
    bool first = true;
    for (const Json& message : messages) {
        if (message["role"] != "system") continue;
        if (!first) text += "\n\n";
        first = false;
        text += message["content"].get_ref<const std::string&>();
    }
    return text;
}

// The turns of a chat: a turn ends where what it has would be said again.
class Turns {
 public:
    Turns(Interpreter& interpreter, Json data) : interpreter_(interpreter), data_(std::move(data)) {
        clear();
    }

    void add(const Json& message) {
        const std::string& role = message["role"].get_ref<const std::string&>();
        const std::string& text = message["content"].get_ref<const std::string&>();
        if (role == "system") {
            if (has("Prompt") || has("Response")) end(false);
            data_["System"] = text;
        } else if (role == "user") {
            if (has("Response")) end(false);
            data_["Prompt"] = text;
        } else if (role == "assistant") {
            data_["Response"] = text;
        }
    }

    void end(bool last) {
        interpreter_.render(data_, last);
        clear();
    }

 private:
    bool has(const char* name) const { return !data_[name].get_ref<const std::string&>().empty(); }
    void clear() {
        for (const char* name : {"System", "Prompt", "Response"}) data_[name] = "";
    }

    Interpreter& interpreter_;
    Json data_;
};

}  // namespace

std::string render_chat(const Template& parsed, const Json& context, const jinja::Limits& limits,
                        const std::optional<jinja::LocalTime>& now) {
    Run run(limits, now);
    Interpreter interpreter(parsed, run);
    Json messages = messages_of(context), data = settings_of(context);
    if (parsed.reads_messages) {
        data["System"] = system_of(messages);
        data["Messages"] = std::move(messages);
        const auto tools = context.find("tools");
        data["Tools"] = tools != context.end() && tools->is_array() ? *tools : Json::array();
        interpreter.render(data, false);
        return mend_utf8(interpreter.take());
    }
    Turns turns(interpreter, std::move(data));
    for (const Json& message : messages) turns.add(message);
    turns.end(true);
    return mend_utf8(interpreter.take());
}

}  // namespace ft::go
