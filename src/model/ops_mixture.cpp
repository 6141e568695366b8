// Mixture of Ops: router, the chosen experts grouped by id, their results summed in router order
// (arithmetic.md 3).
#include <algorithm>

#include "model/ops.h"
#include "model/router.h"

namespace ft {

void Ops::choose_experts(const Layer& layer, View2<const float> in) {
    const View2<float> logits = router_logits_.view(in.rows), probs = router_probs_.view(in.rows);
    const bool has_gate = static_cast<bool>(layer.mixture.shared_gate);
    if (has_gate)
        linear(in, {{layer.mixture.router, logits}, {layer.mixture.shared_gate, shared_gate_.view(in.rows)}});
    else linear(in, {{layer.mixture.router, logits}});
    const auto k = static_cast<size_t>(hp_.top_k);
    each_row(in.rows, hp_.n_expert * hp_.top_k, [&](int64_t i, int) {
        const std::span<int32_t> ids{ids_.data() + i * k, k};
        route(kernels_, {logits.row(i), static_cast<size_t>(hp_.n_expert)}, renormalise_,
              hp_.expert_weights_scale, {probs.row(i), static_cast<size_t>(hp_.n_expert)}, ids,
              {weights_.data() + i * k, k});
    });
    if (on_route)
        for (int64_t i = 0; i < in.rows; i++)
            on_route(layer.index, static_cast<int>(i), {ids_.data() + i * k, k});
}

// Counting sort: the pairs of an expert stand together, in rising order of token.
void Ops::group_by_expert(int n_token) {
    const int n_pair = n_token * hp_.top_k;
    std::fill(expert_begin_.begin(), expert_begin_.end(), 0);
    for (int p = 0; p < n_pair; p++) expert_begin_[ids_[p] + 1]++;
    for (int e = 0; e < hp_.n_expert; e++) expert_begin_[e + 1] += expert_begin_[e];
    // expert_begin_[e] moves to the end of e's pairs while they are placed, and is moved back afterwards
    for (int p = 0; p < n_pair; p++) pairs_[expert_begin_[ids_[p]]++] = p;
    for (int e = hp_.n_expert; e > 0; e--) expert_begin_[e] = expert_begin_[e - 1];
    expert_begin_[0] = 0;
}

// Where the pairs' inputs and outputs lie, by place.
void Ops::prepare_pairs(const Layer& layer, int n_token) {
    const MixtureWeights& m = layer.mixture;
    const int n_pair = n_token * hp_.top_k;
    const View2<float> gate = pair_gate_.view(n_pair), up = pair_up_.view(n_pair),
                       out = pair_out_.view(n_pair);
    const ActKind gate_kind = kernels_.act_kind(m.gate.first.type->type),
                  up_kind = kernels_.act_kind(m.up.first.type->type);
    make_acts(acts_, gate_kind);
    make_acts(acts_, up_kind);
    const std::byte* const* gate_acts = acts_.blobs(gate_kind);
    const std::byte* const* up_acts = acts_.blobs(up_kind);
    // down_ptr_ is free until a batch's second half: it holds up's activations where their form differs from
    // gate's
    for (int i = 0; i < n_pair; i++) {
        const int pair = pairs_[i], token = pair / hp_.top_k;
        in_ptr_[i] = gate_acts[token];
        down_ptr_[i] = up_acts[token];
        gate_ptr_[i] = gate.row(pair);
        up_ptr_[i] = up.row(pair);
        out_ptr_[i] = out.row(pair);
    }
    pair_acts_.set(gate);
}

void Ops::resident_experts(const Layer& layer, int n_token) {
    const MixtureWeights& m = layer.mixture;
    batch_.clear();
    for (int e = 0; e < hp_.n_expert; e++)
        if (expert_begin_[e + 1] > expert_begin_[e])
            batch_.push_back({e, m.gate.expert(e), m.up.expert(e), m.down.expert(e)});
    compute_batch(layer, n_token, static_cast<bool>(m.shared.gate));
}

// What the next layer's router says of the residual stream as it is now: most of its choice, one layer early.
// Of a long step some tokens speak for all.
void Ops::guess_next(const Layer& layer, int n_token) {
    const Layer* next = layer.next_mixture;
    if (next == nullptr || !cache_->wants_guess()) return;
    const int n = std::min(n_token, k_most_guessed);
    const View2<float> h = guess_h_.view(n), logits = guess_logits_.view(n);
    each_row(n, hp_.n_embd, [&](int64_t i, int) {
        const float* x = activity_.x.row(i * n_token / n);
        kernels_.rms_norm(x, next->norm2.data(), hp_.n_embd, hp_.eps, h.row(i));
    });
    guess_acts_.set(h);
    tasks_.clear();
    for (int i = 0; i < n; i++) row_ptr_[0][i] = logits.row(i);
    const Weight& router = guess_routers_->of(*next);
    const ActKind kind = kernels_.act_kind(router.type->type);
    make_acts(guess_acts_, kind);
    add_tasks(router, guess_acts_.blobs(kind), row_ptr_[0].data(), n);
    run_tasks();
    const auto k = static_cast<size_t>(hp_.top_k);
    for (int i = 0; i < n; i++) {
        const auto n_expert = static_cast<size_t>(hp_.n_expert);
        route(kernels_, {logits.row(i), n_expert}, false, 1.0f, {guess_probs_.view(1).row(0), n_expert},
              {guess_ids_.data() + static_cast<size_t>(i) * k, k}, {guess_weights_.data(), k});
    }
    cache_->guess(next->mixture.index, likeliest_first(n));
}

// The guessed experts, each once: those of one token as its router ranks them, else those that most ask for.
std::span<const int32_t> Ops::likeliest_first(int n_token) {
    const std::span<const int32_t> ids{guess_ids_.data(), static_cast<size_t>(n_token * hp_.top_k)};
    if (n_token == 1) return ids;
    std::fill(guess_uses_.begin(), guess_uses_.end(), 0);
    for (const int32_t id : ids) guess_uses_[static_cast<size_t>(id)]++;
    guess_order_.clear();
    for (int32_t e = 0; e < hp_.n_expert; e++)
        if (guess_uses_[static_cast<size_t>(e)] > 0) guess_order_.push_back(e);
    std::sort(guess_order_.begin(), guess_order_.end(), [&](int32_t a, int32_t b) {
        const int uses_a = guess_uses_[static_cast<size_t>(a)], uses_b = guess_uses_[static_cast<size_t>(b)];
        return uses_a != uses_b ? uses_a > uses_b : a < b;
    });
    return guess_order_;
}

// What is resident is computed while the rest is read.
void Ops::streamed_experts(const Layer& layer, int n_token) {
    const MixtureWeights& m = layer.mixture;
    bool with_shared = static_cast<bool>(m.shared.gate);
    const auto compute = [&] {
        batch_.clear();
        for (const Lease& lease : leases_) {
            const int e = lease.expert();
            batch_.push_back({e, m.gate.expert_in(e, lease.slice(m.gate.slice)),
                              m.up.expert_in(e, lease.slice(m.up.slice)),
                              m.down.expert_in(e, lease.slice(m.down.slice))});
        }
        if (!batch_.empty() || with_shared) compute_batch(layer, n_token, with_shared);
        with_shared = false;
    };
    cache_->begin(m.index, {ids_.data(), static_cast<size_t>(n_token * hp_.top_k)}, leases_);
    guess_next(layer, n_token);
    compute();
    while (cache_->next(leases_)) compute();
}

void Ops::compute_batch(const Layer& layer, int n_token, bool with_shared) {
    gate_and_up(layer, n_token, with_shared);
    activate(layer);
    tasks_.clear();
    for (const ExpertUse& use : batch_) {
        const int first = expert_begin_[use.expert], count = expert_begin_[use.expert + 1] - first;
        add_tasks(use.down, &down_ptr_[first], &out_ptr_[first], count);
    }
    if (with_shared) add_shared_down_tasks(layer.mixture.shared, n_token);
    run_tasks();
}

void Ops::gate_and_up(const Layer& layer, int n_token, bool with_shared) {
    const MixtureWeights& m = layer.mixture;
    const bool same_acts =
        kernels_.act_kind(m.gate.first.type->type) == kernels_.act_kind(m.up.first.type->type);
    tasks_.clear();
    for (const ExpertUse& use : batch_) {
        const int first = expert_begin_[use.expert], count = expert_begin_[use.expert + 1] - first;
        add_tasks(use.gate, &in_ptr_[first], &gate_ptr_[first], count);
        add_tasks(use.up, same_acts ? &in_ptr_[first] : &down_ptr_[first], &up_ptr_[first], count);
    }
    if (with_shared) add_shared_tasks(m.shared, n_token);
    run_tasks();
}

// silu(gate) * up of the batch's pairs, in the form that down takes.
void Ops::activate(const Layer& layer) {
    const ActKind down_kind = kernels_.act_kind(layer.mixture.down.first.type->type);
    places_.clear();
    for (const ExpertUse& use : batch_)
        for (int i = expert_begin_[use.expert]; i < expert_begin_[use.expert + 1]; i++) places_.push_back(i);
    each_row(static_cast<int64_t>(places_.size()), hp_.n_ff_expert, [&](int64_t i, int) {
        const int place = places_[i];
        kernels_.silu_mul(gate_ptr_[place], up_ptr_[place], hp_.n_ff_expert, gate_ptr_[place]);
        if (down_kind != ActKind::f32) pair_acts_.make_row(down_kind, pairs_[place]);
    });
    for (int place : places_) down_ptr_[place] = pair_acts_.blobs(down_kind)[pairs_[place]];
}

// The shared expert is one more expert of every token; its products stand in the same lists, so that a layer
// has two barriers whether it has one or not.
void Ops::add_shared_tasks(const DenseWeights& shared, int n_token) {
    const View2<float> gate = ff_gate_.view(n_token, shared.gate.n_row),
                       up = ff_up_.view(n_token, shared.up.n_row);
    for (int i = 0; i < n_token; i++) {
        row_ptr_[0][i] = gate.row(i);
        row_ptr_[1][i] = up.row(i);
    }
    for (const Weight* w : {&shared.gate, &shared.up}) make_acts(acts_, kernels_.act_kind(w->type->type));
    add_tasks(shared.gate, acts_.blobs(kernels_.act_kind(shared.gate.type->type)), row_ptr_[0].data(),
              n_token);
    add_tasks(shared.up, acts_.blobs(kernels_.act_kind(shared.up.type->type)), row_ptr_[1].data(), n_token);
}

void Ops::add_shared_down_tasks(const DenseWeights& shared, int n_token) {
    const View2<float> gate = ff_gate_.view(n_token, shared.gate.n_row),
                       up = ff_up_.view(n_token, shared.up.n_row);
    each_row(n_token, gate.cols,
             [&](int64_t i, int) { kernels_.silu_mul(gate.row(i), up.row(i), gate.cols, gate.row(i)); });
    const ActKind kind = kernels_.act_kind(shared.down.type->type);
    ff_acts_.set(gate);
    make_acts(ff_acts_, kind);
    const View2<float> out = shared_out_.view(n_token);
    for (int i = 0; i < n_token; i++) row_ptr_[0][i] = out.row(i);
    add_tasks(shared.down, ff_acts_.blobs(kind), row_ptr_[0].data(), n_token);
}

void Ops::sum_experts(const Layer& layer, View2<float> out) {
    const View2<float> of_pair = pair_out_.view(out.rows * hp_.top_k), shared = shared_out_.view(out.rows);
    const View2<float> gate = shared_gate_.view(out.rows);
    each_row(out.rows, out.cols * hp_.top_k, [&](int64_t i, int) {
        for (int rank = 0; rank < hp_.top_k; rank++) {
            const int64_t pair = i * hp_.top_k + rank;
            kernels_.scale_add(of_pair.row(pair), weights_[pair], out.cols, out.row(i), rank == 0);
        }
        if (layer.mixture.shared.gate)
            kernels_.scale_add(shared.row(i), sigmoid_f32(*gate.row(i)), out.cols, out.row(i), false);
    });
}

void Ops::mixture(const Layer& layer, View2<const float> in, View2<float> out) {
    choose_experts(layer, in);
    group_by_expert(static_cast<int>(in.rows));
    prepare_pairs(layer, static_cast<int>(in.rows));
    if (cache_ == nullptr) resident_experts(layer, static_cast<int>(in.rows));
    else streamed_experts(layer, static_cast<int>(in.rows));
    if (status()) sum_experts(layer, out);
}

}  // namespace ft
