// Answers in the shapes of OpenAI's /v1/completions and /v1/chat/completions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/answer_collector.h"
#include "server/openai_request.h"

namespace ft {

// What stands around an answer.
struct ResponseHead {
    std::string id;           // "chatcmpl-…", "cmpl-…"
    int64_t created = 0;      // seconds since 1970
    std::string model;        // the name it is served under
    std::string fingerprint;  // of program and model
};

// The whole body. answers: one for each of call.requests, done and without an error. Choices are numbered
// prompt by prompt. `usage` counts end tokens as generated; `timings` has llama-server's names, and queue_ms
// and the experts' figures.
nlohmann::ordered_json response_body(const OpenAiCall& call, const ResponseHead& head,
                                     std::span<const AnswerCollector* const> answers,
                                     const Tokenizer& tokenizer);

// Parts of it, which streamed answers use too.
const char* openai_finish_reason(FinishReason reason);  // "stop", "length"
nlohmann::ordered_json chat_logprobs(std::span<const TokenLogprobs> logprobs, const Tokenizer& tokenizer);
nlohmann::ordered_json usage_json(const RequestRecord& record);
nlohmann::ordered_json timings_json(const RequestRecord& record);

// The figures of several requests as those of one: counts are added, times are those of the whole.
RequestRecord merged(std::span<const RequestRecord> records);

}  // namespace ft
