// bench --parallel: several answers written at once, for some numbers of them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/request.h"

namespace ft::cli {

struct ParallelResult {
    int width = 0;                 // answers at once
    double ttft_ms = 0;            // the mean of all answers
    double each_per_second = 0;    // generated tokens of one answer; the mean
    double total_per_second = 0;   // of all together, from the first one's first token to the last one's end
    double prompt_per_second = 0;  // of all together, until the last one's first token
};

// For each width as many answers of tg tokens to prompts of pp tokens (both at least 1), which share no
// beginning; the engine was loaded for the largest width.
Expected<std::vector<ParallelResult>> bench_parallel(Engine& engine, const std::vector<int>& widths,
                                                     int64_t pp, int64_t tg);

// A greedy request of the batch lane. No two numbers have prompts that begin alike, so that none is spared
// its prompt.
Request bench_request(int number, int64_t pp, int64_t tg, int64_t n_vocab);

nlohmann::ordered_json to_json(const std::vector<ParallelResult>& results);
std::string to_text(const std::vector<ParallelResult>& results);

}  // namespace ft::cli
