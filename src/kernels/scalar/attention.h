// Attention of one query over one chunk of positions, and the merge of chunks: docs/arithmetic.md 4 as plain
// loops.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "kernels/kernels.h"
#include "kernels/scalar/elementwise.h"
#include "quant/half.h"

namespace ft {
namespace {

// Value i of a stored row of K or V.
inline float stored_value(KvType type, const std::byte* row, int64_t i) {
    return type == KvType::f16 ? half_to_float(load<uint16_t>(row + 2 * i)) : load<float>(row + 4 * i);
}

inline void attend_chunk(const AttendChunk& chunk, const float* q, float scale, float* scratch, float* m,
                         float* l, float* o) {
    float* const e = scratch;
    for (int j = 0; j < chunk.n_pos; ++j) {
        const std::byte* const row = chunk.k + static_cast<size_t>(j) * chunk.k_stride;
        const auto key = [&](int64_t i) { return stored_value(chunk.type, row, i); };
        e[j] = lane_sum(chunk.dim_k, key, [q](int64_t i) { return q[i]; }) * scale;
    }
    *m = largest(e, chunk.n_pos);
    for (int j = 0; j < chunk.n_pos; ++j) e[j] = exp_of(Lane1{e[j] - *m}).v;
    *l = sum_of_values(e, chunk.n_pos);
    for (int i = 0; i < chunk.dim_v; ++i) o[i] = 0.0f;
    for (int j = 0; j < chunk.n_pos; ++j) {
        const std::byte* const row = chunk.v + static_cast<size_t>(j) * chunk.v_stride;
        for (int i = 0; i < chunk.dim_v; ++i)
            o[i] = __builtin_fmaf(e[j], stored_value(chunk.type, row, i), o[i]);
    }
}

inline void attend_queries(const AttendChunk& chunk, int n_query, const float* const* q, const int* n_pos,
                           float scale, float* scratch, float* m, float* l, float* const* o) {
    for (int i = 0; i < n_query; ++i) {
        AttendChunk seen = chunk;
        seen.n_pos = n_pos[i];
        attend_chunk(seen, q[i], scale, scratch, &m[i], &l[i], o[i]);
    }
}

inline void attend_merge(float* m, float* l, float* o, float m2, float l2, const float* o2, int dim_v) {
    const float both = m2 > *m ? m2 : *m;
    const float first = exp_of(Lane1{*m - both}).v;
    const float second = exp_of(Lane1{m2 - both}).v;
    *m = both;
    *l = (*l * first) + (l2 * second);
    for (int i = 0; i < dim_v; ++i) o[i] = (o[i] * first) + (o2[i] * second);
}

}  // namespace
}  // namespace ft
