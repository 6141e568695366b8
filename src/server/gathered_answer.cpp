#include "server/gathered_answer.h"

#include <algorithm>
#include <cmath>

#include "server/json_body.h"

namespace ft {

std::vector<GatheredChoice> gather(size_t n_choices, std::span<const AnswerPiece> pieces,
                                   std::span<const ChoiceOutcome> outcomes) {
    using Kind = AnswerPiece::Kind;
    std::vector<GatheredChoice> choices(n_choices);
    for (const AnswerPiece& piece : pieces) {
        GatheredChoice& choice = choices.at(piece.choice);
        choice.logprobs.insert(choice.logprobs.end(), piece.logprobs.begin(), piece.logprobs.end());
        if (piece.kind == Kind::text) choice.text += piece.text;
        if (piece.kind == Kind::tool_begin) choice.calls.push_back({piece.tool_id, piece.text, ""});
        if (piece.kind == Kind::tool_arguments && !choice.calls.empty())
            choice.calls.back().arguments += piece.text;
        if (piece.kind != Kind::thinking) continue;
        choice.thinking += piece.text;
        choice.thinking_tokens += piece.tokens;
    }
    for (const ChoiceOutcome& outcome : outcomes) choices.at(outcome.choice).outcome = outcome;
    return choices;
}

nlohmann::ordered_json parsed_arguments(const std::string& arguments) {
    if (arguments.empty()) return nlohmann::ordered_json::object();
    Expected<nlohmann::ordered_json> parsed = parse_json(arguments);
    if (!parsed) return {{"value", arguments}};
    if (!parsed->is_object()) return {{"value", std::move(*parsed)}};
    return std::move(*parsed);
}

RequestRecord merged(std::span<const RequestRecord> records) {
    if (records.empty()) return {};
    RequestRecord all = records.front();
    double end = all.queue_ms + all.prefill_ms + all.decode_ms;
    for (const RequestRecord& record : records.subspan(1)) {
        end = std::max(end, record.queue_ms + record.prefill_ms + record.decode_ms);
        if (record.queue_ms < all.queue_ms) {
            all.queue_ms = record.queue_ms;
            all.prefill_ms = record.prefill_ms;
            all.ttft_ms = record.ttft_ms;
        }
        all.prompt_tokens += record.prompt_tokens;
        all.cached_tokens += record.cached_tokens;
        all.generated_tokens += record.generated_tokens;
        all.expert_hits += record.expert_hits;
        all.expert_misses += record.expert_misses;
        all.expert_bytes += record.expert_bytes;
        all.expert_wait_ms += record.expert_wait_ms;
        all.expert_worst_ms = std::max(all.expert_worst_ms, record.expert_worst_ms);
        all.parked += record.parked;
        all.dropped_tokens += record.dropped_tokens;
        all.forgotten_tokens += record.forgotten_tokens;
    }
    all.decode_ms = end - all.queue_ms - all.prefill_ms;
    return all;
}

bool is_truncated(const RequestRecord& record) {
    return record.dropped_tokens > 0 || record.forgotten_tokens > 0;
}

void add_truncated(const RequestRecord& record, nlohmann::ordered_json& to) {
    if (is_truncated(record)) to["truncated"] = true;
}

double in_thousandths(double value) { return std::round(value * 1e3) / 1e3; }

nlohmann::ordered_json timings_json(const RequestRecord& record) {
    const auto rate = [](int64_t n, double ms) {
        return ms > 0 ? in_thousandths(static_cast<double>(n) * 1e3 / ms) : 0.0;
    };
    const int64_t read = record.prompt_tokens - record.cached_tokens;
    return {{"queue_ms", in_thousandths(record.queue_ms)},
            {"cache_n", record.cached_tokens},
            {"prompt_n", read},
            {"prompt_ms", in_thousandths(record.prefill_ms)},
            {"prompt_per_second", rate(read, record.prefill_ms)},
            {"predicted_n", record.generated_tokens},
            {"predicted_ms", in_thousandths(record.decode_ms)},
            {"predicted_per_second", rate(record.decoded_tokens(), record.decode_ms)},
            {"ttft_ms", in_thousandths(record.ttft_ms)},
            {"experts",
             {{"hits", record.expert_hits},
              {"misses", record.expert_misses},
              {"bytes_read", record.expert_bytes}}}};
}

}  // namespace ft
