#include "text/chat_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/think_filter.h"

namespace ft {

namespace {

using HistoryJson = nlohmann::ordered_json;

bool is_of(const HistoryJson& message, std::string_view role) {
    const auto at = message.find("role");
    return at != message.end() && *at == role;
}

}  // namespace

std::vector<size_t> turn_begins(const HistoryJson& messages) {
    std::vector<size_t> begins;
    size_t first = 0;
    while (first < messages.size() && is_of(messages[first], "system")) first++;
    for (size_t i = first; i < messages.size(); i++)
        if (i == first || is_of(messages[i], "user")) begins.push_back(i);
    return begins;
}

HistoryJson without_turns(const HistoryJson& messages, size_t n) {
    const std::vector<size_t> begins = turn_begins(messages);
    check(n < begins.size(), "all turns of a chat are dropped");
    HistoryJson kept = HistoryJson::array();
    for (size_t i = 0; i < messages.size(); i++)
        if (i < begins[0] || i >= begins[n]) kept.push_back(messages[i]);
    return kept;
}

Expected<size_t> turns_to_drop(size_t n_turn, int64_t most,
                               FunctionRef<Expected<int64_t>(size_t)> tokens_without) {
    size_t too_few = 0, enough = n_turn > 0 ? n_turn - 1 : 0;  // the answer is in (too_few, enough], or 0
    if (enough == 0) return size_t{0};
    const Expected<int64_t> all = tokens_without(0);
    if (!all) return all.error();
    if (*all <= most) return size_t{0};
    while (enough - too_few > 1) {
        const size_t middle = too_few + (enough - too_few) / 2;
        const Expected<int64_t> n = tokens_without(middle);
        if (!n) return n.error();
        (*n <= most ? enough : too_few) = middle;
    }
    return enough;
}

std::string dropped_turns_line(size_t turns, int64_t tokens, int64_t n_ctx) {
    const std::string which = turns == 1 ? "oldest turn" : fmt::format("{} oldest turns", turns);
    return fmt::format(
        "the chat is longer than the context of {} tokens: kv_cache.auto_evict leaves out its {} ({} tokens)",
        n_ctx, which, tokens);
}

std::string forgotten_line(int64_t tokens, int64_t n_ctx) {
    return fmt::format(
        "the answer went on beyond the context of {} tokens: kv_cache.auto_evict forgot {} of the oldest",
        n_ctx, tokens);
}

Expected<FittedPrompt> fitted_prompt(const ChatContext& context, const Tokenizer& tokenizer, int64_t n_ctx,
                                     FunctionRef<Expected<std::string>(const ChatContext&)> render) {
    const auto prompt_of = [&](const ChatContext& of, size_t dropped) -> Expected<FittedPrompt> {
        Expected<std::string> text = render(of);
        if (!text) return text.error();
        Prompt prompt = raw_prompt(tokenizer, *text);
        prompt.inside_thinking = opens_thinking(*text);
        prompt.thinking_is_over = closes_thinking(*text);
        return FittedPrompt{std::move(*text), std::move(prompt), dropped, 0};
    };
    const auto prompt_without = [&](size_t n) {
        ChatContext shorter = context;
        shorter.messages = without_turns(context.messages, n);
        return prompt_of(shorter, n);
    };
    Expected<FittedPrompt> whole = prompt_of(context, 0);
    const size_t n_turn = turn_begins(context.messages).size();
    if (!whole || n_turn < 2) return whole;
    const auto n_whole = static_cast<int64_t>(whole->prompt.ids.size());
    if (n_whole < n_ctx) return whole;
    const auto tokens_without = [&](size_t n) -> Expected<int64_t> {
        if (n == 0) return n_whole;
        const Expected<FittedPrompt> fitted = prompt_without(n);
        if (!fitted) return fitted.error();
        return static_cast<int64_t>(fitted->prompt.ids.size());
    };
    const int64_t most = n_ctx - std::max<int64_t>(1, n_ctx / 4);
    const Expected<size_t> n = turns_to_drop(n_turn, most, tokens_without);
    if (!n) return n.error();
    Expected<FittedPrompt> kept = prompt_without(*n);
    if (kept) kept->dropped_tokens = n_whole - static_cast<int64_t>(kept->prompt.ids.size());
    return kept;
}

}  // namespace ft
