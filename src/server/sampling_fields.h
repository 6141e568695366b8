// The fields of a request that decide which tokens come and when an answer ends: OpenAI's names, and those
// that llama-server and vLLM added. Every dialect that has them reads them here.
#pragma once

#include "server/json_fields.h"
#include "server/request_defaults.h"

namespace ft {

// The defaults, changed by what the fields say. Ranges are those of the settings of the same meaning.
Request read_sampling(JsonFields& fields, const RequestDefaults& defaults, const Tokenizer& tokenizer);

constexpr int k_most_choices = 128;
constexpr size_t k_most_stops = 64;
constexpr size_t k_longest_stop = 1024;  // bytes
constexpr int k_most_top_logprobs = 20;

}  // namespace ft
