// Memory of Ops: one table of buffers, from which they are allocated, counted, and planned before a model is
// loaded.
#include <algorithm>

#include "model/ops.h"

namespace ft {

namespace {

constexpr size_t k_tasks_of_token = 2048;

int64_t widest_input(const Hparams& hp) {
    return std::max({hp.n_embd, hp.n_head * hp.dim_v, hp.ssm_n_head_v * hp.ssm_state});
}

}  // namespace

std::vector<Ops::Rows> Ops::row_buffers(const Hparams& hp, const Kernels& kernels, const Rope& rope) {
    const int64_t n_q = hp.n_head * hp.dim_k;
    const int64_t n_ff = std::max(hp.n_expert == 0 ? hp.n_ff : 0, hp.n_ff_shared);
    std::vector<Rows> all = {
        {&Ops::x_, Per::token, 1, hp.n_embd},
        {&Ops::h_, Per::token, 1, hp.n_embd},
        {&Ops::y_, Per::token, 1, hp.n_embd},
        {&Ops::q_, Per::token, 1, n_q},
        {&Ops::k_, Per::token, 1, hp.n_head_kv * hp.dim_k},
        {&Ops::v_, Per::token, 1, hp.n_head_kv * hp.dim_v},
        {&Ops::o_, Per::token, 1, hp.n_head * hp.dim_v},
        {&Ops::cos_sin_, Per::token, 1, 2 * rope.n_pair()},
        {&Ops::ff_gate_, Per::token, 1, n_ff},
        {&Ops::ff_up_, Per::token, 1, n_ff},
        {&Ops::attend_, Per::thread, 1, 2 * k_attend_queries * hp.dim_v + 4 * k_kv_block},
    };
    if (hp.dim_k % 32 == 0)
        all.push_back({&Ops::attend_acts_, Per::thread, k_attend_queries,
                       static_cast<int64_t>(kernels.act_bytes(ActKind::q8_32, hp.dim_k) / sizeof(float))});
    if (hp.n_expert > 0)
        all.insert(all.end(), {{&Ops::router_logits_, Per::token, 1, hp.n_expert},
                               {&Ops::router_probs_, Per::token, 1, hp.n_expert},
                               {&Ops::pair_gate_, Per::token, hp.top_k, hp.n_ff_expert},
                               {&Ops::pair_up_, Per::token, hp.top_k, hp.n_ff_expert},
                               {&Ops::pair_out_, Per::token, hp.top_k, hp.n_embd},
                               {&Ops::shared_out_, Per::token, hp.n_ff_shared > 0 ? 1 : 0, hp.n_embd},
                               {&Ops::shared_gate_, Per::token, 1, 1},
                               {&Ops::guess_h_, Per::once, k_most_guessed, hp.n_embd},
                               {&Ops::guess_logits_, Per::once, k_most_guessed, hp.n_expert},
                               {&Ops::guess_probs_, Per::once, 1, hp.n_expert}});
    if (!hp.recurrent.empty()) {  // also a file of this kind whose layers all have attention
        const int64_t inner = hp.ssm_n_head_v * hp.ssm_state;
        all.insert(all.end(),
                   {{&Ops::q_gate_, Per::token, 1, 2 * n_q},
                    {&Ops::gate_, Per::token, 1, n_q},
                    {&Ops::mixed_, Per::token, 1, hp.ssm_channels()},
                    {&Ops::conv_window_, Per::thread, 1, (hp.ssm_conv_taps - 1) * hp.ssm_channels()},
                    {&Ops::convolved_, Per::token, 1, hp.ssm_channels()},
                    {&Ops::z_, Per::token, 1, inner},
                    {&Ops::delta_out_, Per::token, 1, inner},
                    {&Ops::alpha_, Per::token, 1, hp.ssm_n_head_v},
                    {&Ops::beta_, Per::token, 1, hp.ssm_n_head_v}});
    }
    return all;
}

std::vector<Ops::Acts> Ops::act_buffers(const Hparams& hp) {
    std::vector<Acts> all = {
        {&Ops::acts_, Per::token, 1, widest_input(hp)},
        {&Ops::ff_acts_, Per::token, 1, std::max(hp.n_expert == 0 ? hp.n_ff : 0, hp.n_ff_shared)},
    };
    if (hp.n_expert > 0)
        all.insert(all.end(), {{&Ops::pair_acts_, Per::token, hp.top_k, hp.n_ff_expert},
                               {&Ops::guess_acts_, Per::once, k_most_guessed, hp.n_embd}});
    return all;
}

Ops::Ops(const Hparams& hp, bool renormalise, const Kernels& kernels, ThreadPool& pool, const Rope& rope,
         int max_token)
    : hp_(hp), renormalise_(renormalise), kernels_(kernels), pool_(pool), rope_(rope), max_token_(max_token) {
    for (const Rows& b : row_buffers(hp, kernels, rope))
        this->*b.buffer = RowBuffer(b.rows * count(b.per, max_token, pool.size()), b.width);
    for (const Acts& b : act_buffers(hp))
        this->*b.buffer = ActBuffer(kernels, b.rows * count(b.per, max_token, pool.size()), b.width);
    make_lists();
}

int64_t Ops::count(Per per, int n_token, int n_thread) {
    return per == Per::token ? n_token : per == Per::thread ? n_thread : 1;
}

void Ops::make_lists() {
    slice_tasks_.reserve(static_cast<size_t>(max_token_));
    for (auto& pointers : row_ptr_) pointers.resize(static_cast<size_t>(max_token_));
    worker_out_.assign(static_cast<size_t>(pool_.size()),
                       std::vector<float*>(static_cast<size_t>(max_token_)));
    if (hp_.n_expert == 0) return;
    const auto n_pair = static_cast<size_t>(max_token_) * static_cast<size_t>(hp_.top_k);
    for (auto* list : {&ids_, &pairs_}) list->resize(n_pair);
    weights_.resize(n_pair);
    places_.reserve(n_pair);
    batch_.reserve(static_cast<size_t>(hp_.n_expert));
    // The products of a token, however many of its experts are ready at once; longer steps let it grow.
    tasks_.reserve(k_tasks_of_token);
    leases_.reserve(static_cast<size_t>(hp_.n_expert));
    expert_begin_.resize(static_cast<size_t>(hp_.n_expert) + 1);
    guess_ids_.resize(static_cast<size_t>(k_most_guessed * hp_.top_k));
    guess_weights_.resize(static_cast<size_t>(hp_.top_k));
    guess_uses_.resize(static_cast<size_t>(hp_.n_expert));
    guess_order_.reserve(static_cast<size_t>(hp_.n_expert));
    for (auto* list : {&in_ptr_, &down_ptr_}) list->resize(n_pair);
    for (auto* list : {&gate_ptr_, &up_ptr_, &out_ptr_}) list->resize(n_pair);
}

ScratchBytes Ops::planned_lists(const Hparams& hp, int n_thread) {
    const uint64_t per_pair = sizeof(ids_[0]) + sizeof(pairs_[0]) + sizeof(weights_[0]) + sizeof(places_[0]) +
                              sizeof(in_ptr_[0]) + sizeof(down_ptr_[0]) + sizeof(gate_ptr_[0]) +
                              sizeof(up_ptr_[0]) + sizeof(out_ptr_[0]);
    const uint64_t n_expert = static_cast<uint64_t>(hp.n_expert);
    ScratchBytes bytes{
        .fixed = 0,
        .per_token =
            (sizeof(row_ptr_) / sizeof(row_ptr_[0]) + static_cast<uint64_t>(n_thread)) * sizeof(float*) +
            sizeof(slice_tasks_[0])};
    if (n_expert == 0) return bytes;
    const uint64_t top_k = static_cast<uint64_t>(hp.top_k);
    bytes.fixed = n_expert * (sizeof(batch_[0]) + sizeof(leases_[0]) + sizeof(guess_uses_[0]) +
                              sizeof(guess_order_[0])) +
                  (n_expert + 1) * sizeof(expert_begin_[0]) +
                  top_k * (k_most_guessed * sizeof(guess_ids_[0]) + sizeof(guess_weights_[0]));
    bytes.per_token += top_k * per_pair;
    return bytes;
}

uint64_t Ops::list_bytes() const {
    const auto bytes_of = [](const auto&... lists) { return (... + (lists.capacity() * sizeof(lists[0]))); };
    uint64_t sum =
        bytes_of(ids_, pairs_, weights_, places_, in_ptr_, down_ptr_, gate_ptr_, up_ptr_, out_ptr_, batch_,
                 leases_, expert_begin_, guess_ids_, guess_weights_, guess_uses_, guess_order_, slice_tasks_);
    for (const auto& pointers : row_ptr_) sum += bytes_of(pointers);
    for (const auto& pointers : worker_out_) sum += bytes_of(pointers);
    return sum;
}

ScratchBytes Ops::planned_scratch(const Hparams& hp, const Kernels& kernels, const Rope& rope, int n_thread) {
    ScratchBytes bytes = planned_lists(hp, n_thread);
    const auto add = [&](Per per, uint64_t n) {
        if (per == Per::token) bytes.per_token += n;
        else bytes.fixed += n * static_cast<uint64_t>(count(per, 0, n_thread));
    };
    for (const Rows& b : row_buffers(hp, kernels, rope))
        add(b.per, static_cast<uint64_t>(b.rows) * RowBuffer::bytes_per_row(b.width));
    for (const Acts& b : act_buffers(hp))
        add(b.per, static_cast<uint64_t>(b.rows) * ActBuffer::bytes_per_row(kernels, b.width));
    return bytes;
}

uint64_t Ops::scratch_bytes() const {
    uint64_t sum = list_bytes();
    for (const Rows& b : row_buffers(hp_, kernels_, rope_)) sum += (this->*b.buffer).bytes();
    for (const Acts& b : act_buffers(hp_)) sum += (this->*b.buffer).bytes();
    return sum;
}

}  // namespace ft
