// A chat that is longer than the context loses its oldest turns (kv_cache.auto_evict). A turn begins with a
// message of the user. What stands before the first turn as system prompt stays, and so does the last turn,
// which is to be answered.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "text/prompt.h"

namespace ft {

// Where the turns of a list of messages begin, rising: the first one behind the system prompts, whoever
// speaks there.
std::vector<size_t> turn_begins(const nlohmann::ordered_json& messages);

// The messages without their n oldest turns; n is less than the number of turns.
nlohmann::ordered_json without_turns(const nlohmann::ordered_json& messages, size_t n);

// How many of n_turn turns go, so that the prompt has at most `most` tokens: as few as possible, and at most
// all but one. tokens_without(n): those of the prompt without the n oldest; it does not grow with n. An error
// is tokens_without's.
Expected<size_t> turns_to_drop(size_t n_turn, int64_t most,
                               FunctionRef<Expected<int64_t>(size_t)> tokens_without);

struct FittedPrompt {
    std::string text;  // what the template wrote
    Prompt prompt;
    size_t dropped_turns = 0;
    int64_t dropped_tokens = 0;  // of the prompt
};

// "the chat is longer than the context of 256 tokens: kv_cache.auto_evict leaves out its 2 oldest turns (312
// tokens)"
std::string dropped_turns_line(size_t turns, int64_t tokens, int64_t n_ctx);

// "the answer went on beyond the context of 256 tokens: kv_cache.auto_evict forgot 40 of the
// oldest"
std::string forgotten_line(int64_t tokens, int64_t n_ctx);

// The prompt of a chat for a context of n_ctx tokens; `render` is chat_text(), or what stands for it. Where
// there is no room for it, so many turns go that a quarter of the context is free: for the answer, and so
// that the next turns need not drop any. It may still be too long, where the last turn is. An error is
// render's.
Expected<FittedPrompt> fitted_prompt(const ChatContext& context, const Tokenizer& tokenizer, int64_t n_ctx,
                                     FunctionRef<Expected<std::string>(const ChatContext&)> render);

}  // namespace ft
