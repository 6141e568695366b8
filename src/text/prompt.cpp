#include "text/prompt.h"

#include "text/think_filter.h"

namespace ft {

namespace {

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

Expected<std::string> chat_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                ChatContext context) {
    context.bos_token = token_or_nothing(tokenizer, tokenizer.bos_id());
    context.eos_token = token_or_nothing(tokenizer, tokenizer.eos_id());
    Expected<std::string> text = chat_template.render(context.to_json());
    if (!text) return text.error().within("chat template");
    return text;
}

Expected<Prompt> chat_prompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                             ChatContext context) {
    const Expected<std::string> text = chat_text(chat_template, tokenizer, std::move(context));
    if (!text) return text.error();
    Prompt prompt = raw_prompt(tokenizer, *text);
    prompt.inside_thinking = opens_thinking(*text);
    prompt.thinking_is_over = closes_thinking(*text);
    return prompt;
}

}  // namespace ft
