#include "engine/memory_need.h"

#include <algorithm>

#include "base/bytes.h"

namespace ft {

namespace {

double gib(uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(k_gib); }

}  // namespace

uint64_t scratch_estimate(const Hparams& hp, int64_t n_token) {
    const int64_t heads = hp.n_head * (hp.dim_k + hp.dim_v) + hp.n_head_kv * (hp.dim_k + hp.dim_v);
    const int64_t feed_forward = 3 * std::max(hp.n_expert == 0 ? hp.n_ff : 0, hp.n_ff_shared);
    const int64_t mixture = 2 * hp.n_expert + hp.top_k * (3 * hp.n_ff_expert + hp.n_embd) + hp.n_embd;
    const int64_t recurrent =
        hp.has_recurrent()
            ? 2 * hp.ssm_channels() + 3 * hp.ssm_n_head_v * hp.ssm_state + 4 * hp.n_head * hp.dim_k
            : 0;
    const int64_t values = 5 * hp.n_embd + heads + feed_forward + mixture + recurrent;
    return static_cast<uint64_t>(n_token * values) * sizeof(float) +
           static_cast<uint64_t>(hp.n_vocab) * 4 * 17;
}

Status check_memory(const MemoryNeed& need, uint64_t available) {
    if (need.total() <= available) return {};
    return Error{Code::too_large,
                 fmt::format("not enough memory: {:.2f} GiB of RAM are needed (weights {:.2f}, KV cache "
                             "{:.2f}, state and scratch {:.2f}), "
                             "but {:.2f} GiB are available",
                             gib(need.total()), gib(need.weights), gib(need.kv_cache),
                             gib(need.state + need.scratch), gib(available)),
                 "Close other programs, choose a shorter context with --ctx, or take a smaller model or "
                 "quantisation."};
}

}  // namespace ft
