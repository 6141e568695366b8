#include "cli/conversation.h"

#include "cli/think_filter.h"

namespace ft::cli {

namespace {

// What a template and JSON take is UTF-8; a command line or a pipe may hold anything.
std::string well_formed(std::string_view text) {
    using nlohmann::json;
    return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string token_or_nothing(const Tokenizer& tokenizer, int id) {
    return id < 0 ? "" : tokenizer.token_text(id);
}

}  // namespace

Prompt raw_prompt(const Tokenizer& tokenizer, std::string_view text) {
    Prompt prompt;
    prompt.ids = tokenizer.encode(text, {.special = true});
    const int bos = tokenizer.bos_id();
    if (tokenizer.adds_bos() && bos >= 0 && (prompt.ids.empty() || prompt.ids.front() != bos))
        prompt.ids.insert(prompt.ids.begin(), bos);
    return prompt;
}

void Conversation::add_user(std::string text) {
    messages_.push_back({{"role", "user"}, {"content", well_formed(text)}});
}

void Conversation::add_assistant(std::string text, std::string thinking) {
    nlohmann::ordered_json message = {{"role", "assistant"}, {"content", std::move(text)}};
    if (!thinking.empty()) message["reasoning_content"] = std::move(thinking);
    messages_.push_back(std::move(message));
}

nlohmann::ordered_json Conversation::context() const {
    ChatContext context;
    if (!system_.empty()) context.messages.push_back({{"role", "system"}, {"content", well_formed(system_)}});
    for (const auto& message : messages_) context.messages.push_back(message);
    context.bos_token = token_or_nothing(tokenizer_, tokenizer_.bos_id());
    context.eos_token = token_or_nothing(tokenizer_, tokenizer_.eos_id());
    context.enable_thinking = think_;
    return context.to_json();
}

Expected<Prompt> Conversation::prompt() const {
    const Expected<std::string> text = template_.render(context());
    if (!text) return text.error().within("chat template");
    Prompt prompt = raw_prompt(tokenizer_, *text);
    prompt.inside_thinking = opens_thinking(*text);
    return prompt;
}

}  // namespace ft::cli
