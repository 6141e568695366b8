// Places of a prompt where the state of recurrent layers is worth keeping (docs/scheduler.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace ft {

// Where messages begin, rising: at control tokens behind text. The last one is the answer to come, where the
// template ends with its beginning: a conversation that goes on has the same ids up to there, whatever the
// template makes of the answer.
std::vector<int64_t> message_begins(std::span<const int32_t> ids, const Tokenizer& tokenizer);

// Where messages of a prompt begin, and some places between in long ones: a conversation that is edited or
// goes on is likely to be the same up to one of them. Rising, between 1 and ids.size() - 1, which is always
// one.
std::vector<int64_t> state_borders(std::span<const int32_t> ids, const Tokenizer& tokenizer);

}  // namespace ft
