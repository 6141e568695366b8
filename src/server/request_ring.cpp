#include "server/request_ring.h"

#include <nlohmann/json.hpp>

#include "server/gathered_answer.h"

namespace ft {

namespace {

constexpr double k_slow_swap_ms = 200;  // of one step: the drive or its cable is then worth a look

double per_second(int64_t n, double ms) { return ms > 0 ? static_cast<double>(n) * 1e3 / ms : 0.0; }

// Nothing is counted where RAM holds all experts, or before the first step.
std::string hits_text(const RequestRecord& record) {
    const uint64_t all = record.expert_hits + record.expert_misses;
    if (all == 0) return "no expert hits counted";
    return fmt::format("expert hits {:.1f} %",
                       100.0 * static_cast<double>(record.expert_hits) / static_cast<double>(all));
}

// What held the answer up; "" where that is not clear.
std::string limit_text(const RequestRecord& record) {
    const double busy = record.prefill_ms + record.decode_ms;
    if (record.expert_misses == 0 || busy <= 0) return "";
    if (record.expert_wait_ms > 0.5 * busy) return ", limit: drive";
    if (record.expert_wait_ms < 0.1 * busy) return ", limit: cpu";
    return "";
}

}  // namespace

const char* lane_name(Lane lane) { return lane == Lane::batch ? "batch" : "interactive"; }

const char* finish_name(FinishReason reason) {
    switch (reason) {
        case FinishReason::stop:
            return "stop";
        case FinishReason::length:
            return "length";
        case FinishReason::cancelled:
            return "cancelled";
        case FinishReason::error:
            break;
    }
    return "error";
}

nlohmann::ordered_json to_json(const RequestNote& note) {
    const RequestRecord& r = note.record;
    return {{"id", note.id},
            {"x_request_id", note.client_id},
            {"path", note.path},
            {"started", note.started},
            {"lane", lane_name(note.lane)},
            {"stream", note.stream},
            {"status", note.status},
            {"finish_reason", note.finish},
            {"prompt_tokens", r.prompt_tokens},
            {"cached_tokens", r.cached_tokens},
            {"generated_tokens", r.generated_tokens},
            {"queue_ms", in_thousandths(r.queue_ms)},
            {"prompt_ms", in_thousandths(r.prefill_ms)},
            {"predicted_ms", in_thousandths(r.decode_ms)},
            {"ttft_ms", in_thousandths(r.ttft_ms)},
            {"parked", r.parked},
            {"experts",
             {{"hits", r.expert_hits},
              {"misses", r.expert_misses},
              {"bytes_read", r.expert_bytes},
              {"wait_ms", in_thousandths(r.expert_wait_ms)},
              {"worst_wait_ms", in_thousandths(r.expert_worst_ms)}}}};
}

std::string log_text(const RequestNote& note) {
    const RequestRecord& r = note.record;
    std::string text = fmt::format(
        "{} {} {}: queue {:.1f} ms, prompt {} tokens ({} cached) {:.1f} ms, decode {} tokens {:.1f} ms "
        "({:.1f} tok/s), {}, swap in {} experts, {:.1f} MB, {:.1f} ms, worst {:.1f} ms, {}",
        note.id, note.path, lane_name(note.lane), r.queue_ms, r.prompt_tokens, r.cached_tokens, r.prefill_ms,
        r.generated_tokens, r.decode_ms, per_second(r.decoded_tokens(), r.decode_ms), hits_text(r),
        r.expert_misses, static_cast<double>(r.expert_bytes) / 1e6, r.expert_wait_ms, r.expert_worst_ms,
        note.finish);
    text += limit_text(r);
    if (r.expert_worst_ms > k_slow_swap_ms)
        text += fmt::format(
            ", a step waited {:.0f} ms for the drive: see `freetoken doctor`, memory.swap_dir, "
            "memory.ram_budget",
            r.expert_worst_ms);
    return text;
}

void RequestRing::add(RequestNote note) {
    notes_.push_back(std::move(note));
    if (notes_.size() > k_most) notes_.pop_front();
}

}  // namespace ft
