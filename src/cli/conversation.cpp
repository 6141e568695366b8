#include "cli/conversation.h"

#include <algorithm>

#include "base/utf8.h"

namespace ft::cli {

std::string Conversation::saved() const {
    const nlohmann::ordered_json all = {{"system", mend_utf8(system_)}, {"messages", messages_}};
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Status Conversation::restore(const std::string& saved) {
    const auto all = nlohmann::ordered_json::parse(saved, nullptr, false);
    const auto is_message = [](const auto& m) {
        return m.is_object() && m.contains("role") && m["role"].is_string() && m.contains("content") &&
               m["content"].is_string();
    };
    if (!all.is_object() || !all.contains("system") || !all["system"].is_string() ||
        !all.contains("messages") || !all["messages"].is_array() ||
        !std::ranges::all_of(all["messages"], is_message))
        return Error{Code::invalid, "the saved file holds no messages", "Save the conversation again."};
    system_ = all["system"].get<std::string>();
    messages_ = all["messages"];
    return {};
}

// What a template takes is UTF-8; a command line or a pipe may hold anything.
void Conversation::add_user(std::string text) {
    messages_.push_back({{"role", "user"}, {"content", mend_utf8(text)}});
}

void Conversation::add_assistant(std::string text, std::string thinking) {
    nlohmann::ordered_json message = {{"role", "assistant"}, {"content", std::move(text)}};
    if (!thinking.empty()) message["reasoning_content"] = std::move(thinking);
    messages_.push_back(std::move(message));
}

ChatContext Conversation::context() const {
    ChatContext context;
    if (!system_.empty()) context.messages.push_back({{"role", "system"}, {"content", mend_utf8(system_)}});
    for (const auto& message : messages_) context.messages.push_back(message);
    context.enable_thinking = think_;
    return context;
}

Expected<Prompt> Conversation::prompt() const { return chat_prompt(template_, tokenizer_, context()); }

Expected<FittedPrompt> Conversation::fitted_prompt(int64_t n_ctx) {
    Expected<FittedPrompt> fitted = ft::fitted_prompt(
        context(), tokenizer_, n_ctx,
        [&](const ChatContext& shorter) { return chat_text(template_, tokenizer_, shorter); });
    if (fitted && fitted->dropped_turns > 0 && static_cast<int64_t>(fitted->prompt.ids.size()) < n_ctx)
        messages_ = without_turns(messages_, fitted->dropped_turns);
    return fitted;
}

}  // namespace ft::cli
