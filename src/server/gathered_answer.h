// A whole answer, choice by choice, from the pieces that it came in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/endpoint_call.h"

namespace ft {

struct GatheredCall {
    std::string id, name;
    std::string arguments;  // JSON
};

struct GatheredChoice {
    std::string text, thinking;
    std::vector<GatheredCall> calls;
    std::vector<TokenLogprobs> logprobs;
    int64_t thinking_tokens = 0;
    ChoiceOutcome outcome;
};

std::vector<GatheredChoice> gather(size_t n_choices, std::span<const AnswerPiece> pieces,
                                   std::span<const ChoiceOutcome> outcomes);

// The arguments of a call as an object. What a model wrote instead of one stands in its member "value".
nlohmann::ordered_json parsed_arguments(const std::string& arguments);

// The figures of several requests as those of one: counts are added, times are those of the whole, and the
// longest wait is the longest of all.
RequestRecord merged(std::span<const RequestRecord> records);

// Whether kv_cache.auto_evict took something: turns of a chat, or tokens that the answer went on beyond.
bool is_truncated(const RequestRecord& record);
// Then the member `truncated`, true; else none.
void add_truncated(const RequestRecord& record, nlohmann::ordered_json& to);

// Times and rates as answers show them: to the thousandth.
double in_thousandths(double value);

// llama-server's names, and queue_ms and the experts' figures.
nlohmann::ordered_json timings_json(const RequestRecord& record);

}  // namespace ft
