#include "text/end_tokens.h"

#include <algorithm>
#include <string_view>

namespace ft {

namespace {

constexpr std::string_view k_end_marks[] = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|end_of_turn|>",
    "<|endofturn|>",
    "[|endofturn|]",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<|return|>",
    "<|call|>",
    "<|user|>",
    "<|observation|>",
    "<|role_end|>",
    "<|END_OF_TURN_TOKEN|>",
    "[EOS]",
    "[EOT]",
    "[e~[",
    "<|EOT|>",
    "<|eos|>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
};

bool is_special(const Vocabulary& v, int32_t id) {
    return v.type(id) == TokenType::control || v.type(id) == TokenType::user_defined;
}

}  // namespace

std::vector<int32_t> end_tokens(const Vocabulary& v) {
    std::vector<int32_t> ids;
    int32_t message_end = -1;
    bool has_return = false, has_call = false;
    for (int32_t id = 0; id < v.size(); ++id) {
        if (!is_special(v, id)) continue;
        const std::string_view text = v.text(id);
        if (std::find(std::begin(k_end_marks), std::end(k_end_marks), text) == std::end(k_end_marks))
            continue;
        ids.push_back(id);
        if (text == "<|end|>") message_end = id;
        has_return |= text == "<|return|>";
        has_call |= text == "<|call|>";
    }
    // gpt-oss: <|end|> ends a message inside an answer, <|return|> and <|call|> end the answer.
    if (has_return && has_call) std::erase(ids, message_end);
    for (const int32_t id : {v.eos_id, v.eot_id, v.eom_id})
        if (id >= 0) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

}  // namespace ft
