// The fields of a request that decide which tokens come and when an answer ends: OpenAI's names, and those
// that llama-server and vLLM added. Every dialect that has them reads them here.
#pragma once

#include <limits>
#include <vector>

#include "server/json_fields.h"
#include "server/request_defaults.h"

namespace ft {

// What a dialect calls otherwise, or bounds otherwise.
struct SamplingNames {
    const char* stop = "stop";
    // Of an answer's greatest length; the last that is there wins.
    std::vector<const char*> lengths = {"max_tokens", "max_completion_tokens"};
    const char* open_length = "n_predict";  // likewise, and negative numbers are no limit. Read first
    double hottest = std::numeric_limits<double>::infinity();  // temperature, where the setting allows more
};

// The defaults, changed by what the fields say. Ranges are those of the settings of the same meaning.
Request read_sampling(JsonFields& fields, const RequestDefaults& defaults, const Tokenizer& tokenizer,
                      const SamplingNames& names = {});

// OpenAI's own default: a request that names a temperature and no top_p draws from all tokens, unless the
// settings say otherwise.
void open_top_p(const JsonFields& fields, const RequestDefaults& defaults, Request& request);

constexpr int k_most_choices = 128;
constexpr size_t k_most_stops = 64;
constexpr size_t k_longest_stop = 1024;  // bytes
constexpr int k_most_top_logprobs = 20;

}  // namespace ft
