// Attention of one query over one chunk of positions, and the merge of chunks: docs/arithmetic.md 4 as plain
// loops.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "kernels/kernels.h"
#include "kernels/scalar/elementwise.h"
#include "quant/half.h"
#include "quant/types.h"

namespace ft {
namespace {

// Value i of a stored row of K or V.
inline float stored_value(KvType type, const std::byte* row, int64_t i) {
    const int64_t in_block = i % 32;
    switch (type) {
        case KvType::f16:
            return half_to_float(load<uint16_t>(row + 2 * i));
        case KvType::f32:
            return load<float>(row + 4 * i);
        case KvType::q8_0: {
            const std::byte* const block = row + i / 32 * 34;
            return half_to_float(load<uint16_t>(block)) * load<int8_t>(block + 2 + in_block);
        }
        case KvType::q4_0: {
            const std::byte* const block = row + i / 32 * 18;
            const int byte = load<uint8_t>(block + 2 + in_block % 16);
            return half_to_float(load<uint16_t>(block)) *
                   static_cast<float>((in_block < 16 ? byte & 15 : byte >> 4) - 8);
        }
    }
    return 0.0f;
}

inline float key_dot(const AttendChunk& chunk, int j, const AttendQuery& query) {
    const std::byte* const row = chunk.k + static_cast<size_t>(j) * chunk.k_stride;
    if (chunk.type_k == KvType::f16 || chunk.type_k == KvType::f32)
        return lane_sum(
            chunk.dim_k, [&](int64_t i) { return stored_value(chunk.type_k, row, i); },
            [&](int64_t i) { return query.x[i]; });
    const TypeInfo& type = type_info(chunk.type_k == KvType::q8_0 ? QuantType::Q8_0 : QuantType::Q4_0);
    return type.dot(row, act_row(ActKind::q8_32, query.act, chunk.dim_k), chunk.dim_k);
}

inline bool sees(const AttendQuery& query, int j) { return j < query.sinks || j >= query.first; }

inline void attend_one(const AttendChunk& chunk, const AttendQuery& query, float scale, float* e, float* m,
                       float* l, float* o) {
    // A position out of sight has the score -inf and the weight +0, which leaves m and l as if it were
    // absent.
    for (int j = 0; j < query.end; ++j)
        e[j] = sees(query, j) ? key_dot(chunk, j, query) * scale : -__builtin_inff();
    *m = largest(e, query.end);
    for (int j = 0; j < query.end; ++j) e[j] = sees(query, j) ? exp_of(Lane1{e[j] - *m}).v : 0.0f;
    *l = sum_of_values(e, query.end);
    for (int i = 0; i < chunk.dim_v; ++i) o[i] = 0.0f;
    for (int j = 0; j < query.end; ++j) {
        if (!sees(query, j)) continue;
        const std::byte* const row = chunk.v + static_cast<size_t>(j) * chunk.v_stride;
        for (int i = 0; i < chunk.dim_v; ++i)
            o[i] = __builtin_fmaf(e[j], stored_value(chunk.type_v, row, i), o[i]);
    }
}

inline void attend(const AttendChunk& chunk, int n_query, const AttendQuery* queries, float scale,
                   float* scratch, float* m, float* l, float* const* o) {
    for (int i = 0; i < n_query; ++i) attend_one(chunk, queries[i], scale, scratch, &m[i], &l[i], o[i]);
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
