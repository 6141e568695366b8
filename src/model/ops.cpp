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

}  // namespace

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
    if (cache_ != nullptr) cache_->begin_step(n_token_);
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
    if (cache_ != nullptr) cache_->tend();
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
