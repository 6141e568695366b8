#include "text/chat_history.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/vocabulary_for_test.h"

namespace ft {
namespace {

// "su au" -> messages of these roles, whose contents are their numbers.
nlohmann::ordered_json history_of(std::string_view roles) {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();
    for (const char role : roles)
        messages.push_back({{"role", role == 's'   ? "system"
                                     : role == 'u' ? "user"
                                     : role == 't' ? "tool"
                                                   : "assistant"},
                            {"content", std::to_string(messages.size())}});
    return messages;
}

std::string contents(const nlohmann::ordered_json& messages) {
    std::string all;
    for (const auto& message : messages) all += message["content"].get<std::string>();
    return all;
}

TEST(ChatHistory, ATurnBeginsWithAMessageOfTheUser) {
    using Begins = std::vector<size_t>;
    EXPECT_EQ(turn_begins(history_of("")), Begins());
    EXPECT_EQ(turn_begins(history_of("s")), Begins());
    EXPECT_EQ(turn_begins(history_of("u")), Begins({0}));
    EXPECT_EQ(turn_begins(history_of("suauau")), Begins({1, 3, 5}));
    EXPECT_EQ(turn_begins(history_of("ssuatatau")), Begins({2, 8}));
    EXPECT_EQ(turn_begins(history_of("sauau")), Begins({1, 2, 4}));  // an assistant who speaks first
    EXPECT_EQ(turn_begins(history_of("uasau")), Begins({0, 4}));     // a later system message is of its turn
    EXPECT_EQ(turn_begins(history_of("uuu")), Begins({0, 1, 2}));
}

TEST(ChatHistory, TheOldestTurnsGoAfterTheSystemPrompt) {
    EXPECT_EQ(contents(without_turns(history_of("suauau"), 0)), "012345");
    EXPECT_EQ(contents(without_turns(history_of("suauau"), 1)), "0345");
    EXPECT_EQ(contents(without_turns(history_of("suauau"), 2)), "05");
    EXPECT_EQ(contents(without_turns(history_of("uatau"), 1)), "4");
    EXPECT_EQ(contents(without_turns(history_of("saua"), 1)), "023");
}

// Turn i of `lengths` has so many tokens.
size_t dropped(const std::vector<int64_t>& lengths, int64_t most) {
    int calls = 0;
    const auto tokens_without = [&](size_t n) -> Expected<int64_t> {
        calls++;
        int64_t sum = 0;
        for (size_t i = n; i < lengths.size(); i++) sum += lengths[i];
        return sum;
    };
    const Expected<size_t> n = turns_to_drop(lengths.size(), most, tokens_without);
    EXPECT_TRUE(n);
    EXPECT_LE(calls, 12);
    return n ? *n : 0;
}

TEST(ChatHistory, AsFewTurnsGoAsNeededAndNeverTheLast) {
    EXPECT_EQ(dropped({}, 5), 0u);
    EXPECT_EQ(dropped({9}, 5), 0u);
    EXPECT_EQ(dropped({2, 3}, 5), 0u);
    EXPECT_EQ(dropped({2, 4}, 5), 1u);
    EXPECT_EQ(dropped({2, 9}, 5), 1u);
    EXPECT_EQ(dropped({1, 1, 1, 1, 1, 1}, 4), 2u);
    EXPECT_EQ(dropped({5, 0, 0, 1}, 1), 1u);
    for (int64_t most = 0; most < 1000; most += 7)
        EXPECT_EQ(dropped(std::vector<int64_t>(1000, 1), most),
                  static_cast<size_t>(std::min<int64_t>(999, 1000 - most)));
}

TEST(ChatHistory, AnErrorOfThePromptIsPassedOn) {
    const auto n = turns_to_drop(
        4, 5, [](size_t) -> Expected<int64_t> { return Error{Code::invalid, "no such template", ""}; });
    ASSERT_FALSE(n);
    EXPECT_EQ(n.error().what, "no such template");
}

TEST(ChatHistory, APromptThatDoesNotFitLeavesAQuarterFree) {
    const auto tokenizer = load_byte_bpe(byte_vocabulary(), "gpt-2");
    const auto source = ChatTemplate::parse("{% for m in messages %}{{ m.content }}{% endfor %}");
    ASSERT_TRUE(tokenizer && source);
    ChatContext context;
    context.messages = history_of("suauauau");
    for (auto& message : context.messages) message["content"] = std::string(10, 'x');
    const auto fitted = [&](int64_t n_ctx) {
        auto prompt = fitted_prompt(context, **tokenizer, n_ctx, [&](const ChatContext& shorter) {
            return chat_text(*source, **tokenizer, shorter);
        });
        EXPECT_TRUE(prompt);
        return fmt::format("{} tokens without {} turns of {}", prompt->prompt.ids.size(),
                           prompt->dropped_turns, prompt->dropped_tokens);
    };
    EXPECT_EQ(fitted(81), "80 tokens without 0 turns of 0");
    EXPECT_EQ(fitted(80), "60 tokens without 1 turns of 20");
    EXPECT_EQ(fitted(60), "40 tokens without 2 turns of 40");
    EXPECT_EQ(fitted(30), "20 tokens without 3 turns of 60");
    EXPECT_EQ(fitted(15), "20 tokens without 3 turns of 60");  // too long still: the caller refuses it
    EXPECT_EQ(dropped_turns_line(1, 20, 60),
              "the chat is longer than the context of 60 tokens: kv_cache.auto_evict leaves out its oldest "
              "turn (20 tokens)");
}

}  // namespace
}  // namespace ft
