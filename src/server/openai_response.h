// Answers in the shapes of OpenAI's /v1/completions and /v1/chat/completions, whole and streamed.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "server/answer_collector.h"
#include "server/endpoint_call.h"
#include "server/gathered_answer.h"

namespace ft {

std::unique_ptr<AnswerShape> openai_shape(const OpenAiCall& call, const ResponseHead& head,
                                          const Tokenizer& tokenizer);

// The whole body. answers: one for each of call.requests, done and without an error. Choices are numbered
// prompt by prompt. `usage` counts end tokens as generated. `truncated`: add_truncated().
nlohmann::ordered_json response_body(const OpenAiCall& call, const ResponseHead& head,
                                     std::span<const AnswerCollector* const> answers,
                                     const Tokenizer& tokenizer);

// Parts of it, which other shapes use too.
nlohmann::ordered_json chat_logprobs(std::span<const TokenLogprobs> logprobs, const Tokenizer& tokenizer);
size_t n_choices_of(const OpenAiCall& call);

}  // namespace ft
