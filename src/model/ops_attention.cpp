// Attention of Ops: norms and rotation per head, the KV cache, softmax over chunks of 128 positions
// (arithmetic.md 4).
#include <algorithm>

#include "model/ops.h"

namespace ft {

void Ops::head_norm(View2<float> rows, int n_head, const Vector& w) {
    const int64_t dim = hp_.dim_k;
    each_row(rows.rows, rows.cols, [&](int64_t i, int) {
        for (int h = 0; h < n_head; h++) {
            float* head = rows.row(i) + h * dim;
            kernels_.rms_norm(head, w.data(), dim, hp_.eps, head);
        }
    });
}

void Ops::rope(View2<float> rows, int n_head) {
    const View2<float> angles = cos_sin_.view(rows.rows);
    each_row(rows.rows, rows.cols,
             [&](int64_t i, int) { rope_.rotate(rows.row(i), n_head, hp_.dim_k, angles.row(i)); });
}

void Ops::split_gate(View2<const float> q_gate, View2<float> q, View2<float> gate) {
    const int64_t dim = hp_.dim_k;
    each_row(q.rows, q_gate.cols, [&](int64_t i, int) {
        for (int h = 0; h < hp_.n_head; h++) {
            const float* head = q_gate.row(i) + 2 * h * dim;
            std::copy_n(head, dim, q.row(i) + h * dim);
            std::copy_n(head + dim, dim, gate.row(i) + h * dim);
        }
    });
}

void Ops::sigmoid_gate(View2<const float> gate, View2<float> x) {
    each_row(x.rows, x.cols,
             [&](int64_t i, int) { kernels_.sigmoid_mul(gate.row(i), x.row(i), x.cols, x.row(i)); });
}

void Ops::store_kv(const Layer& layer, View2<const float> k, View2<const float> v) {
    for (const Slice& slice : slices_)
        each_row(slice.count, k.cols + v.cols, [&](int64_t i, int) {
            const int64_t row = slice.first + i;
            for (int h = 0; h < hp_.n_head_kv; h++)
                slice.memory->kv.write(layer.kv_index, h, slice.position + i, k.row(row) + h * hp_.dim_k,
                                       v.row(row) + h * hp_.dim_v);
        });
}

// Heads that one task takes together: all that share a KV head, fewer where there would be too few tasks to
// go round.
int Ops::heads_per_task() const {
    const int group = hp_.n_head / hp_.n_head_kv;
    int heads = std::min(group, k_attend_queries);
    const auto tasks = [&] {
        int64_t sum = 0;
        for (const Slice& slice : slices_)
            sum += hp_.n_head_kv * ceil_div(group, heads) * ceil_div(slice.count, k_attend_queries / heads);
        return sum;
    };
    while (heads > 1 && tasks() < 2 * pool_.size()) heads = (heads + 1) / 2;
    return heads;
}

// A task is some heads of one KV head, for a few neighbouring tokens of a sequence: they read the same keys
// and values. The tasks of all sequences are drawn together.
void Ops::attention(const Layer& layer, View2<const float> q, View2<const float> k, View2<const float> v,
                    View2<float> out) {
    store_kv(layer, k, v);
    const int group = hp_.n_head / hp_.n_head_kv;
    const int heads = heads_per_task(), tokens = k_attend_queries / heads;
    const int parts = static_cast<int>(ceil_div(group, heads));
    slice_tasks_.clear();
    int n_task = 0;
    for (const Slice& slice : slices_) {
        slice_tasks_.push_back(n_task);
        n_task += static_cast<int>(ceil_div(slice.count, tokens)) * hp_.n_head_kv * parts;
    }
    pool_.run(n_task, [&](int task, int worker) {
        const auto at = std::upper_bound(slice_tasks_.begin(), slice_tasks_.end(), task) - 1;
        const Slice& slice = slices_[static_cast<size_t>(at - slice_tasks_.begin())];
        const int number = task - *at, part = number % parts;
        const int kv_head = number / parts % hp_.n_head_kv;
        const int token = number / (parts * hp_.n_head_kv) * tokens;
        const Queries queries{.kv_head = kv_head,
                              .first_head = kv_head * group + part * heads,
                              .n_head = std::min(heads, group - part * heads),
                              .first_token = token,
                              .n_token = std::min(tokens, slice.count - token)};
        attend(slice, layer.kv_index, queries, q, out, worker);
    });
}

// What the token at a position sees of a block, as AttendQuery says it; nothing where sinks and range are
// empty.
void Ops::look(int64_t position, int64_t block, AttendQuery& query) const {
    const int64_t base = block * k_kv_block;
    const int64_t from = window_ > 0 ? position + 1 - window_ : 0;  // the oldest that the window holds
    query.end = static_cast<int>(std::clamp<int64_t>(position + 1 - base, 0, k_kv_block));
    query.first = static_cast<int>(std::clamp<int64_t>(from - base, 0, query.end));
    query.sinks = static_cast<int>(std::clamp<int64_t>(sinks_ - base, 0, query.first));
    if (query.sinks == query.first) query.sinks = query.first = 0;  // no gap between them
}

// Keys in blocks of codes take queries in such blocks.
void Ops::make_query_acts(int n, AttendQuery* queries, int worker) {
    const View2<float> blobs = attend_acts_.view(static_cast<int64_t>(pool_.size()) * k_attend_queries);
    for (int i = 0; i < n; i++) {
        auto* const blob = reinterpret_cast<std::byte*>(blobs.row(worker * k_attend_queries + i));
        kernels_.quantise(ActKind::q8_32, queries[i].x, hp_.dim_k, blob);
        queries[i].act = blob;
    }
}

void Ops::attend(const Slice& slice, int layer, const Queries& of, View2<const float> q, View2<float> out,
                 int worker) {
    const int64_t dim_v = hp_.dim_v;
    const int n = of.n_head * of.n_token;  // query i is head i % n_head of token i / n_head
    float* const memory = attend_.view(pool_.size()).row(worker);
    float *o[k_attend_queries], *o2[k_attend_queries], *to[k_attend_queries];
    float m[k_attend_queries], l[k_attend_queries], m2[k_attend_queries], l2[k_attend_queries];
    AttendQuery query[k_attend_queries];
    bool begun[k_attend_queries] = {};
    for (int i = 0; i < n; i++) {
        o[i] = memory + i * dim_v;
        o2[i] = memory + (k_attend_queries + i) * dim_v;
        query[i].x =
            q.row(slice.first + of.first_token + i / of.n_head) + (of.first_head + i % of.n_head) * hp_.dim_k;
    }
    const KvSequence& kv = slice.memory->kv;
    if (kv.shape().type_k == KvType::q8_0 || kv.shape().type_k == KvType::q4_0)
        make_query_acts(n, query, worker);
    float* const scores = memory + 2 * k_attend_queries * dim_v;
    const int64_t position = slice.position + of.first_token, last = position + of.n_token - 1;
    for (int64_t block = 0; block <= last / k_kv_block; block = block_after(block, position)) {
        // Those that see something of a block stand together: the newest may have left it behind, the
        // earliest not have come to it.
        int begin = n, end = 0;
        for (int i = 0; i < n; i++) {
            look(position + i / of.n_head, block, query[i]);
            if (query[i].sinks == 0 && query[i].first == query[i].end) continue;
            begin = std::min(begin, i);
            end = i + 1;
            to[i] = begun[i] ? o2[i] : o[i];
        }
        if (begin >= end) continue;
        const AttendChunk chunk = kv.chunk(layer, of.kv_head, block, query[end - 1].end);
        kernels_.attend(chunk, end - begin, query + begin, hp_.attn_scale, scores, m2 + begin, l2 + begin,
                        to + begin);
        for (int i = begin; i < end; i++) {
            if (begun[i])
                kernels_.attend_merge(&m[i], &l[i], o[i], m2[i], l2[i], o2[i], static_cast<int>(dim_v));
            else m[i] = m2[i], l[i] = l2[i];
            begun[i] = true;
        }
    }
    for (int i = 0; i < n; i++) {
        float* at =
            out.row(slice.first + of.first_token + i / of.n_head) + (of.first_head + i % of.n_head) * dim_v;
        for (int64_t d = 0; d < dim_v; d++) at[d] = o[i][d] / l[i];
    }
}

// The next block of which the token at a position, or a later one, may see something.
int64_t Ops::block_after(int64_t block, int64_t position) const {
    if (window_ == 0 || (block + 1) * k_kv_block < sinks_) return block + 1;
    return std::max(block + 1, std::max<int64_t>(0, position + 1 - window_) / k_kv_block);
}

}  // namespace ft
