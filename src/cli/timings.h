// Times of one answer, under the names that llama-server gave them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/engine.h"
#include "tiers/cache_stats.h"

namespace ft::cli {

// What the plan foresaw, to be compared with what happened.
struct Forecast {
    double prompt_per_second = 0, predicted_per_second = 0;
};
std::optional<Forecast> forecast_of(const Engine& engine);

struct Timings {
    int64_t prompt_n = 0;     // tokens read
    double prompt_ms = 0;     // from the first prompt token to the logits of its last
    int64_t predicted_n = 0;  // tokens generated
    double predicted_ms = 0;
    bool first_is_free = true;  // the first token came with the prompt's logits, before predicted_ms began
    double ttft_ms = 0;         // time to the first token
    double load_ms = 0;
    uint64_t bytes_per_token = 0;            // of weights, read for each generated token
    std::optional<CacheStats> experts = {};  // where RAM holds only some of them
    std::optional<Forecast> forecast = {};   // where the machine's profile is known

    double prompt_per_second() const {
        return prompt_ms > 0 ? static_cast<double>(prompt_n) * 1e3 / prompt_ms : 0.0;
    }
    double predicted_per_second() const {
        const int64_t n = predicted_n - (first_is_free ? 1 : 0);
        return n > 0 && predicted_ms > 0 ? static_cast<double>(n) * 1e3 / predicted_ms : 0.0;
    }
    double read_gb_per_second() const {
        return predicted_per_second() * static_cast<double>(bytes_per_token) / 1e9;
    }
};

// To so many digits after the point: a JSON number should not say more than was measured.
double rounded(double value, int digits);

nlohmann::ordered_json to_json(const Timings& timings);
// "the plan foresaw 3.1 tok/s", or "".
std::string forecast_text(const Timings& timings);

}  // namespace ft::cli
