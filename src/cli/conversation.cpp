#include "cli/conversation.h"

#include "text/utf8.h"

namespace ft::cli {

// What a template takes is UTF-8; a command line or a pipe may hold anything.
void Conversation::add_user(std::string text) {
    messages_.push_back({{"role", "user"}, {"content", mend_utf8(text)}});
}

void Conversation::add_assistant(std::string text, std::string thinking) {
    nlohmann::ordered_json message = {{"role", "assistant"}, {"content", std::move(text)}};
    if (!thinking.empty()) message["reasoning_content"] = std::move(thinking);
    messages_.push_back(std::move(message));
}

Expected<Prompt> Conversation::prompt() const {
    ChatContext context;
    if (!system_.empty()) context.messages.push_back({{"role", "system"}, {"content", mend_utf8(system_)}});
    for (const auto& message : messages_) context.messages.push_back(message);
    context.enable_thinking = think_;
    return chat_prompt(template_, tokenizer_, std::move(context));
}

}  // namespace ft::cli
