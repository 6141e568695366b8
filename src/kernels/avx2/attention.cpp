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

// One key's group of rule 1.1, values [start, end): its 32 lanes halved to 8.
template <KvType type>
inline __m256 dot_to_8(const std::byte* key, const float* q, int64_t start, int64_t end) {
    Lanes32 lanes;
    int64_t i = start;
    for (; i + 32 <= end; i += 32)
        for (int v = 0; v < 4; ++v)
            lanes.v[v] =
                _mm256_fmadd_ps(values<type>(key, i + 8 * v), _mm256_loadu_ps(q + i + 8 * v), lanes.v[v]);
    for (int v = 0; i + 8 <= end; ++v, i += 8)
        lanes.v[v] = _mm256_fmadd_ps(values<type>(key, i), _mm256_loadu_ps(q + i), lanes.v[v]);
    if (const int64_t rest = end - i; rest > 0) {
        // Absent elements are skipped: adding +0 would turn a lane of -0 into +0.
        const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(rest)), index);
        __m256& lane = lanes.v[(i - start) / 8 % 4];
        const __m256 sum = _mm256_fmadd_ps(first_values<type>(key, i, rest), load_first(q + i, rest).v, lane);
        lane = _mm256_blendv_ps(lane, sum, _mm256_castsi256_ps(there));
    }
    return halve_to_8(lanes);
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

// Scores of the chunk's positions, eight at a time; the last position stands in for those behind it, so up to
// seven scores behind the last are written (scratch has room for 128).
template <KvType type>
void score_keys(const AttendChunk& chunk, const float* q, float scale, float* score) {
    for (int first = 0; first < chunk.n_pos; first += 8) {
        __m256 sum = _mm256_setzero_ps();
        for (int64_t start = 0; start < chunk.dim_k; start += 256) {
            const int64_t end = chunk.dim_k - start < 256 ? chunk.dim_k : start + 256;
            __m256 key[8];
            for (int i = 0; i < 8; ++i) {
                const int j = first + i < chunk.n_pos ? first + i : chunk.n_pos - 1;
                key[i] = dot_to_8<type>(chunk.k + static_cast<size_t>(j) * chunk.k_stride, q, start, end);
            }
            const __m256 p = halve_eight(key);
            sum = start == 0 ? p : _mm256_add_ps(sum, p);
        }
        _mm256_storeu_ps(score + first, _mm256_mul_ps(sum, _mm256_set1_ps(scale)));
    }
}

// o[first ...] for 8 k_regs value dimensions: one fma chain per dimension by rising position.
template <KvType type, int k_regs>
inline void weigh_values(const AttendChunk& chunk, const float* e, int64_t first, float* o) {
    __m256 sum[k_regs];
    for (int r = 0; r < k_regs; ++r) sum[r] = _mm256_setzero_ps();
    const std::byte* row = chunk.v;
    for (int j = 0; j < chunk.n_pos; ++j, row += chunk.v_stride) {
        const __m256 weight = _mm256_broadcast_ss(e + j);
        for (int r = 0; r < k_regs; ++r)
            sum[r] = _mm256_fmadd_ps(weight, values<type>(row, first + 8 * r), sum[r]);
    }
    for (int r = 0; r < k_regs; ++r) _mm256_storeu_ps(o + first + 8 * r, sum[r]);
}

template <KvType type>
void weigh_all_values(const AttendChunk& chunk, const float* e, float* o) {
    int64_t i = 0;
    for (; i + 64 <= chunk.dim_v; i += 64) weigh_values<type, 8>(chunk, e, i, o);
    for (; i + 8 <= chunk.dim_v; i += 8) weigh_values<type, 1>(chunk, e, i, o);
    if (const int64_t rest = chunk.dim_v - i; rest > 0) {
        __m256 sum = _mm256_setzero_ps();
        const std::byte* row = chunk.v;
        for (int j = 0; j < chunk.n_pos; ++j, row += chunk.v_stride)
            sum = _mm256_fmadd_ps(_mm256_broadcast_ss(e + j), first_values<type>(row, i, rest), sum);
        store_first(o + i, rest, Lane8{sum});
    }
}

template <KvType type>
void attend(const AttendChunk& chunk, const float* q, float scale, float* scratch, float* m, float* l,
            float* o) {
    score_keys<type>(chunk, q, scale, scratch);
    *m = largest(scratch, chunk.n_pos);
    const Lane8 most = Lane8::of(*m);
    map(chunk.n_pos, scratch, [most](Lane8 s) { return exp_of(s - most); }, scratch);
    *l = sum_of_values(scratch, chunk.n_pos);
    weigh_all_values<type>(chunk, scratch, o);
}

}  // namespace

void attend_chunk(const AttendChunk& chunk, const float* q, float scale, float* scratch, float* m, float* l,
                  float* o) {
    if (chunk.type == KvType::f16) attend<KvType::f16>(chunk, q, scale, scratch, m, l, o);
    else attend<KvType::f32>(chunk, q, scale, scratch, m, l, o);
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
