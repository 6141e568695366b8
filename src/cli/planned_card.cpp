#include "cli/planned_card.h"

#include <algorithm>

#include "base/bytes.h"

namespace ft::cli {

namespace {

constexpr uint64_t k_context_bytes = 512 * k_mib;
constexpr double k_card_gb_per_gib = 36, k_card_most = 900;  // bandwidth grows with memory
constexpr double k_pcie_gb_per_second = 12;

}  // namespace

CardShape planned_card(double vram_gib) {
    const double bytes = vram_gib * static_cast<double>(k_gib);
    return {.total_bytes = static_cast<uint64_t>(bytes),
            .used_by_others = 0,
            .context_bytes = std::min(k_context_bytes, static_cast<uint64_t>(bytes * 0.1)),
            .read_gb_per_second = std::min(k_card_most, vram_gib * k_card_gb_per_gib),
            .pcie_gb_per_second = k_pcie_gb_per_second};
}

Prediction no_slower_than_writing(Prediction prediction, const Plan& plan) {
    if (prediction.prefill_per_second >= prediction.decode_per_second) return prediction;
    prediction.prefill_per_second = prediction.decode_per_second;
    const int64_t prompt = std::clamp<int64_t>(plan.n_ctx - 1, 1, k_predicted_prompt);
    prediction.ttft_ms = 1e3 * static_cast<double>(prompt) / prediction.prefill_per_second;
    return prediction;
}

}  // namespace ft::cli
