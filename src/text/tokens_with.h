// Tokens by what their text holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace ft {

// Rising ids of the tokens whose text holds one of `texts`. For a text that no token holds whole, the last
// token of its own encoding: where it ends. Empty texts are passed over. Looks at the whole vocabulary.
std::vector<int32_t> tokens_with(const Tokenizer& tokenizer, std::span<const std::string> texts);

}  // namespace ft
