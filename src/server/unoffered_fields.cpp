#include "server/unoffered_fields.h"

#include <algorithm>
#include <span>

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// Fields that would change the answer and are not offered: any other value than these is refused.
struct UnofferedField {
    const char* name;
    const char* harmless;  // a JSON list of the values that change nothing
    const char* why;
};

constexpr UnofferedField k_unoffered[] = {
    {"suffix", R"([""])", "filling in between two texts is not offered"},
    {"guided_regex", R"([""])", "use json_schema with a pattern, or grammar"},
    {"modalities", R"([["text"]])", "answers are text alone"},
    {"audio", "[]", "answers are text alone"},
    {"chat_template", R"([""])", "the template is the server's to choose (model.template)"},
    {"add_special_tokens", "[true]", "BOS is added by the vocabulary's rule"},
    {"skip_special_tokens", "[true]", "special tokens never show"},
    {"include_stop_str_in_output", "[false]", "a stop text is never part of the answer"},
    {"min_tokens", "[0]", "an answer's least length cannot be set"},
    {"min_keep", "[0, 1]", "the samplers leave one token at least, and no other number"},
    {"length_penalty", "[1]", "there is no beam search"},
    {"use_beam_search", "[false]", "there is no beam search"},
    {"bad_words", "[[]]", "use logit_bias"},
    {"allowed_token_ids", "[[]]", "use logit_bias"},
    {"prompt_logprobs", "[0]", "logprobs are those of the answer alone"},
    {"post_sampling_probs", "[false]", "logprobs are those of the model, before sampling"},
    {"truncate_prompt_tokens", "[-1]", "a prompt is never cut silently"},
    {"dynatemp_range", "[0]", "the temperature does not change by itself"},
    {"samplers", "[]", "the order of the samplers is fixed"},
    {"lora", "[[]]", "adapters are not offered"},
};

// Fields of chats, in a completion.
constexpr const char* k_of_chats = "it belongs to a chat, as of /v1/chat/completions";
constexpr UnofferedField k_only_in_chats[] = {
    {"tools", "[[]]", k_of_chats},
    {"functions", "[[]]", k_of_chats},
    {"tool_choice", R"(["none", "auto"])", k_of_chats},
    {"function_call", R"(["none", "auto"])", k_of_chats},
    {"messages", "[]", k_of_chats},
};

void refuse_all(std::span<const UnofferedField> unoffered, JsonFields& fields) {
    for (const UnofferedField& field : unoffered) {
        const Json* value = fields.find(field.name);
        if (!value) continue;
        const Json harmless = Json::parse(field.harmless);
        if (std::find(harmless.begin(), harmless.end(), *value) == harmless.end())
            fields.fail(field.name, fmt::format("{} is {}, but {}.", field.name, shown(*value), field.why));
    }
}

}  // namespace

void refuse_unoffered(JsonFields& fields) { refuse_all(k_unoffered, fields); }
void refuse_chat_fields(JsonFields& fields) { refuse_all(k_only_in_chats, fields); }

}  // namespace ft
