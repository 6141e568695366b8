#include "kernels/avx2/attention.h"

#include "kernels/avx2/row.h"
#include "kernels/math_source.h"

namespace ft::avx2 {
namespace {

// Values i .. i + 7 of a stored row.
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

// The queries that pass over the keys and values together, at most four: as many as registers hold sums for.
struct Tile {
    const float* q[4];
    float* o[4];
    int n_pos[4];      // positions that each sees
    int n_pos_all;     // positions that all see
    int n_pos_any;     // positions that one sees
    float* weight[4];  // [128] scores, then e
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
            sum[i] = _mm256_fmadd_ps(k, _mm256_loadu_ps(tile.q[i] + at), sum[i]);
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
            _mm256_blendv_ps(sum[i], _mm256_fmadd_ps(k, load_first(tile.q[i] + at, rest).v, sum[i]), there);
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
    for (int first = 0; first < tile.n_pos_any; first += 8) {
        __m256 sum[n_query] = {};
        for (int64_t start = 0; start < chunk.dim_k; start += 256) {
            const int64_t end = chunk.dim_k - start < 256 ? chunk.dim_k : start + 256;
            __m256 lanes[n_query][8];
            for (int k = 0; k < 8; ++k) {
                const int j = first + k < tile.n_pos_any ? first + k : tile.n_pos_any - 1;
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
        for (int r = 0; r < n_reg; ++r) v[r] = values<type>(row, at + 8 * r);
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
    if (at < chunk.dim_v)
        for (int i = 0; i < n_query; ++i) weigh_last_values<type>(chunk, tile, first + i, begin, end, at);
}

template <KvType type, int n_query>
void weigh_all(const AttendChunk& chunk, const Tile& tile) {
    constexpr int k_positions =
        32;  // their values, read once per n_reg registers, stay in the first-level cache
    for (int i = 0; i < n_query; ++i)
        for (int64_t d = 0; d < chunk.dim_v; ++d) tile.o[i][d] = 0.0f;
    for (int begin = 0; begin < tile.n_pos_all; begin += k_positions) {
        const int end = begin + k_positions < tile.n_pos_all ? begin + k_positions : tile.n_pos_all;
        weigh_range<type, n_query>(chunk, tile, 0, begin, end);
    }
    for (int i = 0; i < n_query; ++i)
        if (tile.n_pos[i] > tile.n_pos_all)
            weigh_range<type, 1>(chunk, tile, i, tile.n_pos_all, tile.n_pos[i]);
}

template <KvType type, int n_query>
void attend_tile(const AttendChunk& chunk, const float* const* q, const int* n_pos, float scale,
                 float* scratch, float* m, float* l, float* const* o) {
    Tile tile;
    tile.n_pos_all = tile.n_pos_any = n_pos[0];
    for (int i = 0; i < n_query; ++i) {
        tile.q[i] = q[i];
        tile.o[i] = o[i];
        tile.n_pos[i] = n_pos[i];
        tile.n_pos_all = n_pos[i] < tile.n_pos_all ? n_pos[i] : tile.n_pos_all;
        tile.n_pos_any = n_pos[i] > tile.n_pos_any ? n_pos[i] : tile.n_pos_any;
        tile.weight[i] = scratch + 128 * i;
    }
    score_keys<type, n_query>(chunk, tile, scale);
    for (int i = 0; i < n_query; ++i) {
        float* const e = tile.weight[i];
        m[i] = largest(e, n_pos[i]);
        const Lane8 most = Lane8::of(m[i]);
        map(n_pos[i], e, [most](Lane8 s) { return exp_of(s - most); }, e);
        l[i] = sum_of_values(e, n_pos[i]);
    }
    weigh_all<type, n_query>(chunk, tile);
}

template <KvType type>
void attend(const AttendChunk& chunk, int n_query, const float* const* q, const int* n_pos, float scale,
            float* scratch, float* m, float* l, float* const* o) {
    int i = 0;
    for (; i + 4 <= n_query; i += 4)
        attend_tile<type, 4>(chunk, q + i, n_pos + i, scale, scratch, m + i, l + i, o + i);
    for (; i + 2 <= n_query; i += 2)
        attend_tile<type, 2>(chunk, q + i, n_pos + i, scale, scratch, m + i, l + i, o + i);
    if (i < n_query) attend_tile<type, 1>(chunk, q + i, n_pos + i, scale, scratch, m + i, l + i, o + i);
}

}  // namespace

void attend_queries(const AttendChunk& chunk, int n_query, const float* const* q, const int* n_pos,
                    float scale, float* scratch, float* m, float* l, float* const* o) {
    if (chunk.type == KvType::f16) attend<KvType::f16>(chunk, n_query, q, n_pos, scale, scratch, m, l, o);
    else attend<KvType::f32>(chunk, n_query, q, n_pos, scale, scratch, m, l, o);
}

void attend_chunk(const AttendChunk& chunk, const float* q, float scale, float* scratch, float* m, float* l,
                  float* o) {
    attend_queries(chunk, 1, &q, &chunk.n_pos, scale, scratch, m, l, &o);
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
