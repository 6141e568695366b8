#include "kernels/avx2/attention.h"

#include "kernels/avx2/matmul.h"
#include "kernels/avx2/row.h"
#include "kernels/math_source.h"

namespace ft::avx2 {
namespace {

// Values i .. i + 7 of a row of floats.
template <KvType type>
inline __m256 values(const std::byte* row, int64_t i) {
    if constexpr (type == KvType::f16)
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 2 * i)));
    else return _mm256_loadu_ps(reinterpret_cast<const float*>(row + 4 * i));
}

// The n < 8 values from i on, then zeros; nothing is read behind them.
template <KvType type>
inline __m256 first_values(const std::byte* row, int64_t i, int64_t n) {
    if constexpr (type == KvType::f16) {
        alignas(16) uint16_t half[8] = {};
        __builtin_memcpy(half, row + 2 * i, static_cast<size_t>(2 * n));
        return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(half)));
    } else {
        return load_first(reinterpret_cast<const float*>(row + 4 * i), n).v;
    }
}

template <KvType type>
constexpr bool k_blocks = type == KvType::q8_0 || type == KvType::q4_0;

// Scale of the block that value i lies in, and where its codes begin.
template <KvType type>
inline __m256 block_scale(const std::byte* row, int64_t i, const std::byte*& codes) {
    const std::byte* const block = row + i / 32 * (type == KvType::q8_0 ? 34 : 18);
    codes = block + 2;
    uint16_t half;
    __builtin_memcpy(&half, block, sizeof half);
    return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<int16_t>(half)));
}

// Codes of values i .. i + 7 of a block, i a multiple of 8.
template <KvType type>
inline __m256 block_codes(const std::byte* codes, int64_t i) {
    if constexpr (type == KvType::q8_0)
        return _mm256_cvtepi32_ps(
            _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i))));
    const __m256i bytes =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i % 16)));
    const __m256i code =
        i < 16 ? _mm256_and_si256(bytes, _mm256_set1_epi32(15)) : _mm256_srli_epi32(bytes, 4);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(code, _mm256_set1_epi32(8)));
}

// Values i .. i + 8 n_reg - 1 of a stored row; i is a multiple of 8 n_reg, which divides 32 or is its
// multiple.
template <KvType type, int n_reg>
inline void load_values(const std::byte* row, int64_t i, __m256 (&v)[n_reg]) {
    if constexpr (!k_blocks<type>) {
        for (int r = 0; r < n_reg; ++r) v[r] = values<type>(row, i + 8 * r);
    } else {
        constexpr int n_together = n_reg < 4 ? n_reg : 4;
        for (int r = 0; r < n_reg; r += n_together) {
            const std::byte* codes;
            const __m256 d = block_scale<type>(row, i + 8 * r, codes);
            for (int k = 0; k < n_together; ++k)
                v[r + k] = _mm256_mul_ps(d, block_codes<type>(codes, (i + 8 * (r + k)) % 32));
        }
    }
}

// The queries that pass over the keys and values together, at most four: as many as registers hold sums for.
struct Tile {
    const AttendQuery* q;
    float* o[4];
    int first_all, end_all;  // positions that all see, sinks aside; none where first_all >= end_all
    int end_any;             // positions behind it no query sees
    float* weight[4];        // [128] scores, then e
};

// Lanes 8 v .. 8 v + 7 of rule 1.1 for one key's group, values [start, end), and each query.
template <KvType type, int n_query>
inline void dot_lanes(const std::byte* key, const Tile& tile, int64_t start, int64_t end, int v,
                      __m256 (&sum)[n_query]) {
    for (int i = 0; i < n_query; ++i) sum[i] = _mm256_setzero_ps();
    int64_t at = start + 8 * v;
    for (; at + 8 <= end; at += 32) {
        const __m256 k = values<type>(key, at);
        for (int i = 0; i < n_query; ++i)
            sum[i] = _mm256_fmadd_ps(k, _mm256_loadu_ps(tile.q[i].x + at), sum[i]);
    }
    if (at >= end) return;
    // Absent elements are skipped: adding +0 would turn a lane of -0 into +0.
    const int64_t rest = end - at;
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 there =
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(rest)), index));
    const __m256 k = first_values<type>(key, at, rest);
    for (int i = 0; i < n_query; ++i)
        sum[i] =
            _mm256_blendv_ps(sum[i], _mm256_fmadd_ps(k, load_first(tile.q[i].x + at, rest).v, sum[i]), there);
}

// All lanes of one key's group, halved to 8 for each query: (v0 + v2) + (v1 + v3).
template <KvType type, int n_query>
inline void dot_to_8(const std::byte* key, const Tile& tile, int64_t start, int64_t end,
                     __m256 (&sum)[n_query]) {
    __m256 v2[n_query], v1[n_query], v3[n_query];
    dot_lanes<type>(key, tile, start, end, 0, sum);
    dot_lanes<type>(key, tile, start, end, 2, v2);
    for (int i = 0; i < n_query; ++i) sum[i] = _mm256_add_ps(sum[i], v2[i]);
    dot_lanes<type>(key, tile, start, end, 1, v1);
    dot_lanes<type>(key, tile, start, end, 3, v3);
    for (int i = 0; i < n_query; ++i) sum[i] = _mm256_add_ps(sum[i], _mm256_add_ps(v1[i], v3[i]));
}

// Eight keys' 8 lanes each, halved to one sum per key: element i of the result is key i's.
inline __m256 halve_eight(const __m256 (&key)[8]) {
    __m256 four[4];  // key i in the low half, key i + 4 in the high half
    for (int i = 0; i < 4; ++i)
        four[i] = _mm256_add_ps(_mm256_permute2f128_ps(key[i], key[i + 4], 0x20),
                                _mm256_permute2f128_ps(key[i], key[i + 4], 0x31));
    const __m256 two01 =
        _mm256_add_ps(_mm256_shuffle_ps(four[0], four[1], 0x44), _mm256_shuffle_ps(four[0], four[1], 0xee));
    const __m256 two23 =
        _mm256_add_ps(_mm256_shuffle_ps(four[2], four[3], 0x44), _mm256_shuffle_ps(four[2], four[3], 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(two01, two23, 0x88), _mm256_shuffle_ps(two01, two23, 0xdd));
}

// Scores of the positions that a query of the tile sees, eight keys at a time. The last key stands in for
// those behind it, so up to seven scores behind the last are written; there is room for 128.
template <KvType type, int n_query>
void score_keys(const AttendChunk& chunk, const Tile& tile, float scale) {
    for (int first = 0; first < tile.end_any; first += 8) {
        __m256 sum[n_query] = {};
        for (int64_t start = 0; start < chunk.dim_k; start += 256) {
            const int64_t end = chunk.dim_k - start < 256 ? chunk.dim_k : start + 256;
            __m256 lanes[n_query][8];
            for (int k = 0; k < 8; ++k) {
                const int j = first + k < tile.end_any ? first + k : tile.end_any - 1;
                __m256 key[n_query];
                dot_to_8<type>(chunk.k + static_cast<size_t>(j) * chunk.k_stride, tile, start, end, key);
                for (int i = 0; i < n_query; ++i) lanes[i][k] = key[i];
            }
            for (int i = 0; i < n_query; ++i) {
                const __m256 p = halve_eight(lanes[i]);
                sum[i] = start == 0 ? p : _mm256_add_ps(sum[i], p);
            }
        }
        for (int i = 0; i < n_query; ++i)
            _mm256_storeu_ps(tile.weight[i] + first, _mm256_mul_ps(sum[i], _mm256_set1_ps(scale)));
    }
}

// The same for keys in blocks: a matrix product, whose rows are the keys.
template <int n_query>
void score_blocks(const AttendChunk& chunk, const Tile& tile, float scale) {
    const std::byte* acts[n_query];
    for (int i = 0; i < n_query; ++i) acts[i] = tile.q[i].act;
    matmul_avx2(chunk.type_k == KvType::q8_0 ? QuantType::Q8_0 : QuantType::Q4_0,
                MatMul{.weights = chunk.k,
                       .row_bytes = chunk.k_stride,
                       .n_col = chunk.dim_k,
                       .n_row = tile.end_any,
                       .acts = acts,
                       .out = tile.weight,
                       .n_token = n_query});
    for (int i = 0; i < n_query; ++i)
        map(tile.end_any, tile.weight[i], [scale](Lane8 s) { return s * Lane8::of(scale); }, tile.weight[i]);
}

template <int n_query>
void score(const AttendChunk& chunk, const Tile& tile, float scale) {
    switch (chunk.type_k) {
        case KvType::f16:
            return score_keys<KvType::f16, n_query>(chunk, tile, scale);
        case KvType::f32:
            return score_keys<KvType::f32, n_query>(chunk, tile, scale);
        case KvType::q8_0:
        case KvType::q4_0:
            return score_blocks<n_query>(chunk, tile, scale);
    }
}

// Takes positions [begin, end) into o[at ...] of the tile's queries from `first` on, for 8 n_reg value
// dimensions: one fma chain per dimension by rising position.
template <KvType type, int n_query, int n_reg>
inline void weigh_values(const AttendChunk& chunk, const Tile& tile, int first, int begin, int end,
                         int64_t at) {
    __m256 sum[n_query][n_reg];
    for (int i = 0; i < n_query; ++i)
        for (int r = 0; r < n_reg; ++r) sum[i][r] = _mm256_loadu_ps(tile.o[first + i] + at + 8 * r);
    const std::byte* row = chunk.v + static_cast<size_t>(begin) * chunk.v_stride;
    for (int j = begin; j < end; ++j, row += chunk.v_stride) {
        __m256 v[n_reg];
        load_values<type, n_reg>(row, at, v);
        for (int i = 0; i < n_query; ++i) {
            const __m256 e = _mm256_broadcast_ss(tile.weight[first + i] + j);
            for (int r = 0; r < n_reg; ++r) sum[i][r] = _mm256_fmadd_ps(e, v[r], sum[i][r]);
        }
    }
    for (int i = 0; i < n_query; ++i)
        for (int r = 0; r < n_reg; ++r) _mm256_storeu_ps(tile.o[first + i] + at + 8 * r, sum[i][r]);
}

// The last 1 to 7 value dimensions of query i.
template <KvType type>
void weigh_last_values(const AttendChunk& chunk, const Tile& tile, int i, int begin, int end, int64_t at) {
    const int64_t rest = chunk.dim_v - at;
    __m256 sum = load_first(tile.o[i] + at, rest).v;
    const std::byte* row = chunk.v + static_cast<size_t>(begin) * chunk.v_stride;
    for (int j = begin; j < end; ++j, row += chunk.v_stride)
        sum =
            _mm256_fmadd_ps(_mm256_broadcast_ss(tile.weight[i] + j), first_values<type>(row, at, rest), sum);
    store_first(tile.o[i] + at, rest, Lane8{sum});
}

// Positions [begin, end) into all value dimensions of n_query queries from `first` on.
template <KvType type, int n_query>
void weigh_range(const AttendChunk& chunk, const Tile& tile, int first, int begin, int end) {
    constexpr int n_reg = n_query == 1 ? 8 : n_query == 2 ? 4 : 2;  // eight chains hide the latency of fma
    int64_t at = 0;
    for (; at + 8 * n_reg <= chunk.dim_v; at += 8 * n_reg)
        weigh_values<type, n_query, n_reg>(chunk, tile, first, begin, end, at);
    for (; at + 8 <= chunk.dim_v; at += 8) weigh_values<type, n_query, 1>(chunk, tile, first, begin, end, at);
    if constexpr (!k_blocks<type>)
        if (at < chunk.dim_v)
            for (int i = 0; i < n_query; ++i) weigh_last_values<type>(chunk, tile, first + i, begin, end, at);
}

// All that the queries see, each by rising position: sinks, what it sees before the others do, what all see,
// what it sees behind that.
template <KvType type, int n_query>
void weigh_all(const AttendChunk& chunk, const Tile& tile) {
    constexpr int k_positions =
        32;  // their values, read once per n_reg registers, stay in the first-level cache
    const int all_end = tile.first_all < tile.end_all ? tile.end_all : tile.first_all;
    for (int i = 0; i < n_query; ++i) {
        const AttendQuery& q = tile.q[i];
        for (int64_t d = 0; d < chunk.dim_v; ++d) tile.o[i][d] = 0.0f;
        const int before = tile.first_all < q.end ? tile.first_all : q.end;
        if (q.sinks > 0) weigh_range<type, 1>(chunk, tile, i, 0, q.sinks);
        if (q.first < before) weigh_range<type, 1>(chunk, tile, i, q.first, before);
    }
    for (int begin = tile.first_all; begin < all_end; begin += k_positions) {
        const int end = begin + k_positions < all_end ? begin + k_positions : all_end;
        weigh_range<type, n_query>(chunk, tile, 0, begin, end);
    }
    for (int i = 0; i < n_query; ++i)
        if (tile.q[i].end > all_end) weigh_range<type, 1>(chunk, tile, i, all_end, tile.q[i].end);
}

template <int n_query>
void weigh(const AttendChunk& chunk, const Tile& tile) {
    switch (chunk.type_v) {
        case KvType::f16:
            return weigh_all<KvType::f16, n_query>(chunk, tile);
        case KvType::f32:
            return weigh_all<KvType::f32, n_query>(chunk, tile);
        case KvType::q8_0:
            return weigh_all<KvType::q8_0, n_query>(chunk, tile);
        case KvType::q4_0:
            return weigh_all<KvType::q4_0, n_query>(chunk, tile);
    }
}

// Scores of one query to weights, in place; gives m and l.
void soften(const AttendQuery& q, float* e, float* m, float* l) {
    for (int j = q.sinks; j < q.first; ++j) e[j] = -__builtin_inff();
    *m = largest(e, q.end);
    const Lane8 most = Lane8::of(*m);
    map(q.end, e, [most](Lane8 s) { return exp_of(s - most); }, e);
    for (int j = q.sinks; j < q.first; ++j) e[j] = 0.0f;
    *l = sum_of_values(e, q.end);
}

template <int n_query>
void attend_tile(const AttendChunk& chunk, const AttendQuery* q, float scale, float* scratch, float* m,
                 float* l, float* const* o) {
    Tile tile{
        .q = q, .o = {}, .first_all = q[0].first, .end_all = q[0].end, .end_any = q[0].end, .weight = {}};
    for (int i = 0; i < n_query; ++i) {
        tile.o[i] = o[i];
        tile.first_all = q[i].first > tile.first_all ? q[i].first : tile.first_all;
        tile.end_all = q[i].end < tile.end_all ? q[i].end : tile.end_all;
        tile.end_any = q[i].end > tile.end_any ? q[i].end : tile.end_any;
        tile.weight[i] = scratch + 128 * i;
    }
    score<n_query>(chunk, tile, scale);
    for (int i = 0; i < n_query; ++i) soften(q[i], tile.weight[i], &m[i], &l[i]);
    weigh<n_query>(chunk, tile);
}

}  // namespace

void attend(const AttendChunk& chunk, int n_query, const AttendQuery* queries, float scale, float* scratch,
            float* m, float* l, float* const* o) {
    int i = 0;
    for (; i + 4 <= n_query; i += 4) attend_tile<4>(chunk, queries + i, scale, scratch, m + i, l + i, o + i);
    for (; i + 2 <= n_query; i += 2) attend_tile<2>(chunk, queries + i, scale, scratch, m + i, l + i, o + i);
    if (i < n_query) attend_tile<1>(chunk, queries + i, scale, scratch, m + i, l + i, o + i);
}

void attend_merge(float* m, float* l, float* o, float m2, float l2, const float* o2, int dim_v) {
    const float both = m2 > *m ? m2 : *m;
    const Lane8 first = exp_of(Lane8::of(*m - both));
    const Lane8 second = exp_of(Lane8::of(m2 - both));
    *m = both;
    *l = (*l * _mm256_cvtss_f32(first.v)) + (l2 * _mm256_cvtss_f32(second.v));
    map(dim_v, o, [=](Lane8 a, Lane8 b) { return (a * first) + (b * second); }, o, o2);
}

}  // namespace ft::avx2
