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

void Ops::attention(const Layer& layer, View2<const float> q, View2<const float> k, View2<const float> v,
                    View2<float> out) {
    store_kv(layer, k, v);
    for (const Slice& slice : slices_) {
        // A task is one head of a few neighbouring queries: they read the same keys while these are in cache.
        const int blocks = static_cast<int>(ceil_div(slice.count, k_query_block));
        pool_.run(blocks * hp_.n_head, [&](int task, int worker) {
            const int begin = task / hp_.n_head * k_query_block;
            attend(slice, layer.kv_index, task % hp_.n_head, begin,
                   std::min(begin + k_query_block, slice.count), q, out, worker);
        });
    }
}

void Ops::attend(const Slice& slice, int layer, int head, int begin, int end, View2<const float> q,
                 View2<float> out, int worker) {
    const int64_t dim_v = hp_.dim_v;
    const int kv_head = head / (hp_.n_head / hp_.n_head_kv);
    float* const o = attend_.view(pool_.size()).row(worker);  // [k_query_block + 1, dim_v], then scores
    float* const o2 = o + k_query_block * dim_v;
    float* const scores = o2 + dim_v;
    float m[k_query_block], l[k_query_block];
    const int64_t last = slice.position + end - 1;
    for (int64_t block = 0; block <= last / k_kv_block; block++)
        for (int t = begin; t < end; t++) {
            const int64_t visible = slice.position + t + 1 - block * k_kv_block;
            if (visible <= 0) continue;
            const AttendChunk chunk = slice.memory->kv.chunk(
                layer, kv_head, block, static_cast<int>(std::min<int64_t>(visible, k_kv_block)));
            const float* query = q.row(slice.first + t) + head * hp_.dim_k;
            const int i = t - begin;
            if (block == 0) {
                kernels_.attend_chunk(chunk, query, hp_.attn_scale, scores, &m[i], &l[i], o + i * dim_v);
                continue;
            }
            float m2 = 0, l2 = 0;
            kernels_.attend_chunk(chunk, query, hp_.attn_scale, scores, &m2, &l2, o2);
            kernels_.attend_merge(&m[i], &l[i], o + i * dim_v, m2, l2, o2, static_cast<int>(dim_v));
        }
    for (int t = begin; t < end; t++) {
        float* to = out.row(slice.first + t) + head * dim_v;
        for (int64_t d = 0; d < dim_v; d++) to[d] = o[(t - begin) * dim_v + d] / l[t - begin];
    }
}

}  // namespace ft
