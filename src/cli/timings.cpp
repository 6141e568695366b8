#include "cli/timings.h"

#include "tiers/plan_predict.h"

namespace ft::cli {

namespace {

// Of rates that say something: a forecast of prompts holds for long ones, and a few tokens are no rate.
constexpr int64_t k_prompt_tokens = k_predicted_prompt / 2, k_predicted_tokens = 8;

nlohmann::ordered_json forecast_json(const Timings& t) {
    nlohmann::ordered_json json = {{"prompt_per_second", t.forecast->prompt_per_second},
                                   {"predicted_per_second", t.forecast->predicted_per_second}};
    if (t.prompt_n >= k_prompt_tokens && t.forecast->prompt_per_second > 0)
        json["prompt_ratio"] = t.prompt_per_second() / t.forecast->prompt_per_second;
    if (t.predicted_n >= k_predicted_tokens && t.forecast->predicted_per_second > 0)
        json["predicted_ratio"] = t.predicted_per_second() / t.forecast->predicted_per_second;
    return json;
}

}  // namespace

std::optional<Forecast> forecast_of(const Engine& engine) {
    const auto prediction = engine.prediction();
    if (!prediction) return std::nullopt;
    return Forecast{prediction->prefill_per_second, prediction->decode_per_second};
}

std::string forecast_text(const Timings& t) {
    if (!t.forecast || t.predicted_n < k_predicted_tokens) return "";
    return fmt::format("the plan foresaw {:.1f} tok/s", t.forecast->predicted_per_second);
}

nlohmann::ordered_json to_json(const Timings& t) {
    nlohmann::ordered_json json = {{"prompt_n", t.prompt_n},
                                   {"prompt_ms", t.prompt_ms},
                                   {"prompt_per_second", t.prompt_per_second()},
                                   {"predicted_n", t.predicted_n},
                                   {"predicted_ms", t.predicted_ms},
                                   {"predicted_per_second", t.predicted_per_second()},
                                   {"ttft_ms", t.ttft_ms},
                                   {"load_ms", t.load_ms},
                                   {"read_gb_per_second", t.read_gb_per_second()}};
    if (t.experts)
        json["experts"] = {{"hits", t.experts->hits},
                           {"misses", t.experts->misses},
                           {"hit_rate", t.experts->hit_rate()},
                           {"drive_bytes", t.experts->bytes_read},
                           {"drive_gb_per_second", t.experts->read_gb_per_second()},
                           {"wait_ms", t.experts->wait_seconds * 1e3}};
    if (t.forecast) json["forecast"] = forecast_json(t);
    return json;
}

}  // namespace ft::cli
