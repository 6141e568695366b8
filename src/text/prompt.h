// From texts and conversations to the ids that a model is fed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace ft {

struct Prompt {
    std::vector<int32_t> ids;
    bool inside_thinking = false;   // the template has opened <think> for the model
    bool thinking_is_over = false;  // the template has closed it, too: the answer begins at once
};

// Text for a model that is to go on with it: BOS by the vocabulary's rule (not twice), special tokens parsed.
Prompt raw_prompt(const Tokenizer& tokenizer, std::string_view text);

// A conversation by the model's template; bos_token and eos_token of the context are filled in here. An error
// is the template's.
Expected<std::string> chat_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                                ChatContext context);
Expected<Prompt> chat_prompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                             ChatContext context);

}  // namespace ft
