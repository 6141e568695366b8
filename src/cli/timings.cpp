#include "cli/timings.h"

#include <cmath>

#include "tiers/plan_predict.h"

namespace ft::cli {

namespace {

// Of rates that say something: a forecast of prompts holds for long ones, and a few tokens are no rate.
constexpr int64_t k_prompt_tokens = k_predicted_prompt / 2, k_predicted_tokens = 8;

nlohmann::ordered_json forecast_json(const Timings& t) {
    nlohmann::ordered_json json = {{"prompt_per_second", rounded(t.forecast->prompt_per_second, 3)},
                                   {"predicted_per_second", rounded(t.forecast->predicted_per_second, 3)}};
    if (t.prompt_n >= k_prompt_tokens && t.forecast->prompt_per_second > 0)
        json["prompt_ratio"] = rounded(t.prompt_per_second() / t.forecast->prompt_per_second, 4);
    if (t.predicted_n >= k_predicted_tokens && t.forecast->predicted_per_second > 0)
        json["predicted_ratio"] = rounded(t.predicted_per_second() / t.forecast->predicted_per_second, 4);
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

double rounded(double value, int digits) {
    const double scale = std::pow(10.0, digits);
    return std::round(value * scale) / scale;
}

nlohmann::ordered_json to_json(const Timings& t) {
    nlohmann::ordered_json json = {{"prompt_n", t.prompt_n},
                                   {"prompt_ms", rounded(t.prompt_ms, 3)},
                                   {"prompt_per_second", rounded(t.prompt_per_second(), 3)},
                                   {"predicted_n", t.predicted_n},
                                   {"predicted_ms", rounded(t.predicted_ms, 3)},
                                   {"predicted_per_second", rounded(t.predicted_per_second(), 3)},
                                   {"ttft_ms", rounded(t.ttft_ms, 3)},
                                   {"load_ms", rounded(t.load_ms, 3)},
                                   {"read_gb_per_second", rounded(t.read_gb_per_second(), 3)}};
    if (t.experts)
        json["experts"] = {{"hits", t.experts->hits},
                           {"misses", t.experts->misses},
                           {"hit_rate", rounded(t.experts->hit_rate(), 5)},
                           {"drive_bytes", t.experts->bytes_read},
                           {"drive_gb_per_second", rounded(t.experts->read_gb_per_second(), 3)},
                           {"waited_gb_per_second", rounded(t.experts->waited_gb_per_second(), 3)},
                           {"wait_ms", rounded(t.experts->wait_seconds * 1e3, 3)}};
    if (t.forecast) json["forecast"] = forecast_json(t);
    return json;
}

}  // namespace ft::cli
