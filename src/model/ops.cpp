#include "model/ops.h"

#include <algorithm>

namespace ft {

namespace {

// Below this many values a loop is done by the caller alone: waking the pool costs more.
constexpr int64_t k_worth_waking = 16 * 1024;
// A thread's share of one token's products: long enough to stream, short enough to even out at the end.
constexpr int64_t k_decode_task_bytes = 96 * 1024;
// Multiply-adds of a task with several tokens, about 50 microseconds.
constexpr int64_t k_prefill_task_macs = 4 << 20;
constexpr int64_t k_row_step = 16;  // kernels work on tiles of 8 and 16 rows
constexpr int64_t k_most_prefill_rows = 128;

int64_t task_rows(const Weight& w, int n_token) {
    const int64_t rows = n_token <= 3
                             ? k_decode_task_bytes / static_cast<int64_t>(w.row_bytes)
                             : std::min(k_most_prefill_rows, k_prefill_task_macs / (n_token * w.n_col));
    return std::max(k_row_step, rows / k_row_step * k_row_step);
}

int64_t widest_input(const Hparams& hp) {
    return std::max({hp.n_embd, hp.n_head * hp.dim_v, hp.ssm_n_head_v * hp.ssm_state});
}

}  // namespace

Ops::Ops(const Hparams& hp, bool renormalise, const Kernels& kernels, ThreadPool& pool, const Rope& rope,
         int max_token)
    : hp_(hp), renormalise_(renormalise), kernels_(kernels), pool_(pool), rope_(rope), max_token_(max_token) {
    const int64_t n = max_token, n_q = hp.n_head * hp.dim_k;
    for (RowBuffer* rows : {&x_, &h_, &y_}) *rows = RowBuffer(n, hp.n_embd);
    q_ = RowBuffer(n, n_q);
    k_ = RowBuffer(n, hp.n_head_kv * hp.dim_k);
    v_ = RowBuffer(n, hp.n_head_kv * hp.dim_v);
    o_ = RowBuffer(n, hp.n_head * hp.dim_v);
    cos_sin_ = RowBuffer(n, 2 * rope.n_pair());
    const int64_t n_ff = std::max(hp.n_expert == 0 ? hp.n_ff : 0, hp.n_ff_shared);
    for (RowBuffer* rows : {&ff_gate_, &ff_up_}) *rows = RowBuffer(n, n_ff);
    acts_ = ActBuffer(kernels, n, widest_input(hp));
    ff_acts_ = ActBuffer(kernels, n, n_ff);
    attend_ = RowBuffer(pool.size(), 2 * k_attend_queries * hp.dim_v + 4 * k_kv_block);
    if (hp.dim_k % 32 == 0)
        attend_acts_ =
            RowBuffer(static_cast<int64_t>(pool.size()) * k_attend_queries,
                      static_cast<int64_t>(kernels.act_bytes(ActKind::q8_32, hp.dim_k) / sizeof(float)));
    slice_tasks_.reserve(static_cast<size_t>(n));
    for (auto& pointers : row_ptr_) pointers.resize(max_token);
    if (hp.n_expert > 0) {
        const int64_t n_pair = n * hp.top_k;
        router_logits_ = RowBuffer(n, hp.n_expert);
        router_probs_ = RowBuffer(n, hp.n_expert);
        pair_gate_ = RowBuffer(n_pair, hp.n_ff_expert);
        pair_up_ = RowBuffer(n_pair, hp.n_ff_expert);
        pair_out_ = RowBuffer(n_pair, hp.n_embd);
        shared_out_ = RowBuffer(hp.n_ff_shared > 0 ? n : 0, hp.n_embd);
        shared_gate_ = RowBuffer(n, 1);
        guess_h_ = RowBuffer(k_most_guessed, hp.n_embd);
        guess_logits_ = RowBuffer(k_most_guessed, hp.n_expert);
        guess_probs_ = RowBuffer(1, hp.n_expert);
        guess_acts_ = ActBuffer(kernels, k_most_guessed, hp.n_embd);
        guess_ids_.resize(static_cast<size_t>(k_most_guessed * hp.top_k));
        guess_weights_.resize(static_cast<size_t>(hp.top_k));
        pair_acts_ = ActBuffer(kernels, n_pair, hp.n_ff_expert);
        for (auto* list : {&ids_, &pairs_}) list->resize(n_pair);
        weights_.resize(n_pair);
        places_.reserve(n_pair);
        batch_.reserve(hp.n_expert);
        leases_.reserve(hp.n_expert);
        expert_begin_.resize(hp.n_expert + 1);
        for (auto* list : {&in_ptr_, &down_ptr_}) list->resize(n_pair);
        for (auto* list : {&gate_ptr_, &up_ptr_, &out_ptr_}) list->resize(n_pair);
    }
    if (!hp.recurrent.empty()) {  // also a file of this kind whose layers all have attention
        const int64_t inner = hp.ssm_n_head_v * hp.ssm_state;
        q_gate_ = RowBuffer(n, 2 * n_q);
        gate_ = RowBuffer(n, n_q);
        mixed_ = RowBuffer(n, hp.ssm_channels());
        conv_window_ = RowBuffer(pool.size(), (hp.ssm_conv_taps - 1) * hp.ssm_channels());
        convolved_ = RowBuffer(n, hp.ssm_channels());
        for (RowBuffer* rows : {&z_, &delta_out_}) *rows = RowBuffer(n, inner);
        for (RowBuffer* rows : {&alpha_, &beta_}) *rows = RowBuffer(n, hp.ssm_n_head_v);
    }
    worker_out_.assign(pool.size(), std::vector<float*>(static_cast<size_t>(n)));
}

uint64_t Ops::scratch_bytes() const {
    uint64_t sum = acts_.bytes() + ff_acts_.bytes() + pair_acts_.bytes() + guess_acts_.bytes();
    for (const RowBuffer* rows : {&x_,
                                  &h_,
                                  &y_,
                                  &q_,
                                  &k_,
                                  &v_,
                                  &o_,
                                  &q_gate_,
                                  &gate_,
                                  &ff_gate_,
                                  &ff_up_,
                                  &cos_sin_,
                                  &attend_,
                                  &attend_acts_,
                                  &router_logits_,
                                  &router_probs_,
                                  &pair_gate_,
                                  &pair_up_,
                                  &pair_out_,
                                  &shared_out_,
                                  &shared_gate_,
                                  &guess_h_,
                                  &guess_logits_,
                                  &guess_probs_,
                                  &mixed_,
                                  &conv_window_,
                                  &convolved_,
                                  &z_,
                                  &alpha_,
                                  &beta_,
                                  &delta_out_})
        sum += rows->bytes();
    return sum;
}

void Ops::each_row(int64_t n, int64_t values, FunctionRef<void(int64_t, int)> fn) {
    if (n * values < k_worth_waking || pool_.size() == 1) {
        for (int64_t i = 0; i < n; i++) fn(i, 0);
        return;
    }
    const int64_t chunks = std::min<int64_t>(n, pool_.size() * 4);
    pool_.run(static_cast<int>(chunks), [&](int chunk, int worker) {
        for (int64_t i = n * chunk / chunks; i < n * (chunk + 1) / chunks; i++) fn(i, worker);
    });
}

void Ops::begin(std::span<const Slice> slices) {
    slices_.assign(slices.begin(), slices.end());
    n_token_ = 0;
    for (const Slice& slice : slices_) n_token_ += slice.count;
    check(n_token_ > 0 && n_token_ <= max_token_, "a step of more tokens than its scratch was made for");
    if (cache_ != nullptr) cache_->begin_step();
    const int64_t n = n_token_;
    activity_ = Activity{.x = x_.view(n),
                         .h = h_.view(n),
                         .y = y_.view(n),
                         .q = q_.view(n),
                         .k = k_.view(n),
                         .v = v_.view(n),
                         .o = o_.view(n),
                         .q_gate = q_gate_.view(n),
                         .gate = gate_.view(n)};
    const View2<float> angles = cos_sin_.view(n);
    for (const Slice& slice : slices_)
        each_row(slice.count, rope_.n_pair() * 64,
                 [&](int64_t i, int) { rope_.table(slice.position + i, angles.row(slice.first + i)); });
}

void Ops::rms_norm(View2<const float> in, const Vector& w, View2<float> out) {
    each_row(in.rows, in.cols,
             [&](int64_t i, int) { kernels_.rms_norm(in.row(i), w.data(), in.cols, hp_.eps, out.row(i)); });
}

void Ops::add(View2<float> x, View2<const float> y) {
    each_row(x.rows, x.cols, [&](int64_t i, int) { kernels_.add(x.row(i), y.row(i), x.cols, x.row(i)); });
}

void Ops::make_acts(ActBuffer& acts, ActKind kind) {
    if (acts.has(kind)) return;
    each_row(acts.rows().rows, acts.rows().cols, [&](int64_t i, int) { acts.make_row(kind, i); });
    acts.made(kind);
}

void Ops::linear(View2<const float> in, std::initializer_list<Product> products) {
    acts_.set(in);
    tasks_.clear();
    size_t number = 0;
    for (const Product& product : products) {
        const ActKind kind = kernels_.act_kind(product.weight.type->type);
        make_acts(acts_, kind);
        auto& out = row_ptr_[number++];
        for (int64_t i = 0; i < in.rows; i++) out[i] = product.out.row(i);
        add_tasks(product.weight, acts_.blobs(kind), out.data(), static_cast<int>(in.rows));
    }
    run_tasks();
}

void Ops::add_tasks(const Weight& w, const std::byte* const* acts, float* const* out, int n_token) {
    const int64_t step = task_rows(w, n_token);
    for (int64_t begin = 0; begin < w.n_row; begin += step) {
        Weight rows = w.rows(begin, std::min(step, w.n_row - begin));
        tasks_.push_back({rows, acts, out, begin, n_token});
    }
}

void Ops::run_tasks() {
    const auto n = static_cast<int>(tasks_.size());
    // Threads draw tasks in order, so the one that a thread takes next is most likely pool size places ahead.
    pool_.run(n, [&](int i, int worker) {
        const int ahead = std::min(i + pool_.size(), n - 1);
        run_task(tasks_[i], tasks_[ahead].weight.data, worker);
    });
}

void Ops::run_task(const MatTask& task, const std::byte* next, int worker) {
    std::vector<float*>& out = worker_out_[worker];
    const Weight& w = task.weight;
    for (int t = 0; t < task.n_token; t++) out[t] = task.out[t] + task.row_begin;
    kernels_.matmul(w.type->type, MatMul{.weights = w.data,
                                         .row_bytes = w.row_bytes,
                                         .n_col = w.n_col,
                                         .n_row = w.n_row,
                                         .acts = task.acts,
                                         .out = out.data(),
                                         .n_token = task.n_token,
                                         .next = next});
    if (w.scale == nullptr && w.bias == nullptr) return;
    for (int t = 0; t < task.n_token; t++)
        for (int64_t r = 0; r < w.n_row; r++) {
            if (w.scale != nullptr) out[t][r] = out[t][r] * *w.scale;
            if (w.bias != nullptr) out[t][r] = out[t][r] + w.bias[r];
        }
}

void Ops::dense(const DenseWeights& w, View2<const float> in, View2<float> out) {
    const View2<float> gate = ff_gate_.view(in.rows, w.gate.n_row), up = ff_up_.view(in.rows, w.up.n_row);
    linear(in, {{w.gate, gate}, {w.up, up}});
    each_row(in.rows, gate.cols,
             [&](int64_t i, int) { kernels_.silu_mul(gate.row(i), up.row(i), gate.cols, gate.row(i)); });
    ff_acts_.set(gate);
    const ActKind kind = kernels_.act_kind(w.down.type->type);
    make_acts(ff_acts_, kind);
    tasks_.clear();
    for (int64_t i = 0; i < in.rows; i++) row_ptr_[0][i] = out.row(i);
    add_tasks(w.down, ff_acts_.blobs(kind), row_ptr_[0].data(), static_cast<int>(in.rows));
    run_tasks();
}

void Ops::feed_forward(const Layer& layer) {
    const Activity& a = activity_;
    rms_norm(a.x, layer.norm2, a.h);
    if (layer.is_mixture()) mixture(layer, a.h, a.y);
    else dense(layer.dense, a.h, a.y);
    add(a.x, a.y);
}

}  // namespace ft
