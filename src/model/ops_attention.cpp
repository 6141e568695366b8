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
int Ops::heads_per_task(int count) const {
    const int group = hp_.n_head / hp_.n_head_kv;
    int heads = std::min(group, k_attend_queries);
    const auto tasks = [&] {
        return hp_.n_head_kv * ceil_div(group, heads) * ceil_div(count, k_attend_queries / heads);
    };
    while (heads > 1 && tasks() < 2 * pool_.size()) heads = (heads + 1) / 2;
    return heads;
}

void Ops::attention(const Layer& layer, View2<const float> q, View2<const float> k, View2<const float> v,
                    View2<float> out) {
    store_kv(layer, k, v);
    const int group = hp_.n_head / hp_.n_head_kv;
    for (const Slice& slice : slices_) {
        // A task is some heads of one KV head, for a few neighbouring tokens: they read the same keys and
        // values.
        const int heads = heads_per_task(slice.count), tokens = k_attend_queries / heads;
        const int parts = static_cast<int>(ceil_div(group, heads)),
                  blocks = static_cast<int>(ceil_div(slice.count, tokens));
        pool_.run(blocks * hp_.n_head_kv * parts, [&](int task, int worker) {
            const int kv_head = task / parts % hp_.n_head_kv, part = task % parts;
            const int token = task / (parts * hp_.n_head_kv) * tokens;
            const Queries queries{.kv_head = kv_head,
                                  .first_head = kv_head * group + part * heads,
                                  .n_head = std::min(heads, group - part * heads),
                                  .first_token = token,
                                  .n_token = std::min(tokens, slice.count - token)};
            attend(slice, layer.kv_index, queries, q, out, worker);
        });
    }
}

void Ops::attend(const Slice& slice, int layer, const Queries& of, View2<const float> q, View2<float> out,
                 int worker) {
    const int64_t dim_v = hp_.dim_v;
    const int n = of.n_head * of.n_token;  // query i is head i % n_head of token i / n_head
    float* const memory = attend_.view(pool_.size()).row(worker);
    float *o[k_attend_queries], *o2[k_attend_queries];
    const float* query[k_attend_queries];
    float m[k_attend_queries], l[k_attend_queries], m2[k_attend_queries], l2[k_attend_queries];
    int visible[k_attend_queries];
    for (int i = 0; i < n; i++) {
        o[i] = memory + i * dim_v;
        o2[i] = memory + (k_attend_queries + i) * dim_v;
        query[i] =
            q.row(slice.first + of.first_token + i / of.n_head) + (of.first_head + i % of.n_head) * hp_.dim_k;
    }
    float* const scores = memory + 2 * k_attend_queries * dim_v;
    const int64_t last = slice.position + of.first_token + of.n_token - 1;
    for (int64_t block = 0; block <= last / k_kv_block; block++) {
        // the earliest tokens of the task may not see the last block yet
        int first = 0;
        for (int i = 0; i < n; i++) {
            const int64_t seen = slice.position + of.first_token + i / of.n_head + 1 - block * k_kv_block;
            visible[i] = static_cast<int>(std::min<int64_t>(seen, k_kv_block));
            if (seen <= 0) first = i + 1;
        }
        const AttendChunk chunk = slice.memory->kv.chunk(layer, of.kv_head, block, visible[n - 1]);
        if (block == 0) {
            kernels_.attend_queries(chunk, n, query, visible, hp_.attn_scale, scores, m, l, o);
            continue;
        }
        kernels_.attend_queries(chunk, n - first, query + first, visible + first, hp_.attn_scale, scores,
                                m2 + first, l2 + first, o2 + first);
        for (int i = first; i < n; i++)
            kernels_.attend_merge(&m[i], &l[i], o[i], m2[i], l2[i], o2[i], static_cast<int>(dim_v));
    }
    for (int i = 0; i < n; i++) {
        float* to =
            out.row(slice.first + of.first_token + i / of.n_head) + (of.first_head + i % of.n_head) * dim_v;
        for (int64_t d = 0; d < dim_v; d++) to[d] = o[i][d] / l[i];
    }
}

}  // namespace ft
