#include "kernels/avx2/recurrent.h"

#include "kernels/avx2/row.h"
#include "kernels/math_source.h"
#include "kernels/scalar/recurrent.h"

namespace ft::avx2 {
namespace {

struct DeltaStep {
    float* state;  // [d, d]
    const float* q;
    const float* k;
    const float* v;
    float decay, beta, q_scale;
    int d;
    float* o;
};

// Value indices first .. first + 8 k_regs - 1. The state is read twice and written once: decaying it again is
// cheaper than storing it in between, and the second reading comes out of the cache. Meanwhile the columns at
// `next` (row 0), which come after these, are fetched: a few lines of every row are a pattern that the
// processor does not see by itself.
template <int k_regs>
inline void delta_columns(const DeltaStep& step, int first, const float* next) {
    const __m256 decay = _mm256_set1_ps(step.decay);
    __m256 sum[k_regs], u[k_regs];
    for (int r = 0; r < k_regs; ++r) sum[r] = _mm256_setzero_ps();
    float* row = step.state + first;
    for (int i = 0; i < step.d; ++i, row += step.d) {
        const __m256 k = _mm256_broadcast_ss(step.k + i);
        for (int r = 0; r < k_regs; ++r)
            sum[r] = _mm256_fmadd_ps(k, _mm256_mul_ps(_mm256_loadu_ps(row + 8 * r), decay), sum[r]);
    }
    for (int r = 0; r < k_regs; ++r) {
        const __m256 v = _mm256_loadu_ps(step.v + first + 8 * r);
        u[r] = _mm256_mul_ps(_mm256_set1_ps(step.beta), _mm256_sub_ps(v, sum[r]));
        sum[r] = _mm256_setzero_ps();
    }
    row = step.state + first;
    for (int i = 0; i < step.d; ++i, row += step.d, next += step.d) {
        for (int r = 0; r < k_regs; r += 2)
            _mm_prefetch(reinterpret_cast<const char*>(next + 8 * r), _MM_HINT_T1);
        const __m256 k = _mm256_broadcast_ss(step.k + i);
        const __m256 q = _mm256_broadcast_ss(step.q + i);
        for (int r = 0; r < k_regs; ++r) {
            const __m256 decayed = _mm256_mul_ps(_mm256_loadu_ps(row + 8 * r), decay);
            const __m256 s = _mm256_add_ps(decayed, _mm256_mul_ps(k, u[r]));
            _mm256_storeu_ps(row + 8 * r, s);
            sum[r] = _mm256_fmadd_ps(q, s, sum[r]);
        }
    }
    for (int r = 0; r < k_regs; ++r)
        _mm256_storeu_ps(step.o + first + 8 * r, _mm256_mul_ps(_mm256_set1_ps(step.q_scale), sum[r]));
}

// Tap t of eight channels in element t of the result; w is the first channel's first of four taps.
struct FourTaps {
    __m256 tap[4];
};
inline FourTaps transpose_taps(const float* w) {
    __m256 pair[4];  // channel i in the low half, channel i + 4 in the high half
    for (int i = 0; i < 4; ++i)
        pair[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(w + 4 * i)),
                                       _mm_loadu_ps(w + 16 + 4 * i), 1);
    const __m256 low01 = _mm256_unpacklo_ps(pair[0], pair[1]), low23 = _mm256_unpacklo_ps(pair[2], pair[3]);
    const __m256 high01 = _mm256_unpackhi_ps(pair[0], pair[1]), high23 = _mm256_unpackhi_ps(pair[2], pair[3]);
    return {{_mm256_shuffle_ps(low01, low23, 0x44), _mm256_shuffle_ps(low01, low23, 0xee),
             _mm256_shuffle_ps(high01, high23, 0x44), _mm256_shuffle_ps(high01, high23, 0xee)}};
}

// n <= 8 channels from c on, any number of taps.
void conv_channels(const float* history, const float* x, const float* w, int taps, int64_t n_channel,
                   int64_t c, int64_t n, float* out) {
    Lane8 sum = Lane8::of(0.0f);
    for (int t = 0; t < taps; ++t) {
        alignas(32) float tap[8] = {};
        for (int64_t i = 0; i < n; ++i) tap[i] = w[(c + i) * taps + t];
        const float* const values = t < taps - 1 ? history + t * n_channel : x;
        sum = fma(Lane8::load(tap), n == 8 ? Lane8::load(values + c) : load_first(values + c, n), sum);
    }
    if (n == 8) silu_of(sum).store(out + c);
    else store_first(out + c, n, silu_of(sum));
}

}  // namespace

void delta_step(float* state, const float* q, const float* k, const float* v, float decay, float beta,
                float q_scale, int d, float* o) {
    const DeltaStep step{state, q, k, v, decay, beta, q_scale, d, o};
    int j = 0;
    // Behind the last columns stands, as a rule, the state of the next head.
    const auto next = [&](int columns) {
        return j + columns < d ? state + j + columns : state + int64_t{d} * d;
    };
    for (; j + 64 <= d; j += 64) delta_columns<8>(step, j, next(64));
    for (; j + 8 <= d; j += 8) delta_columns<1>(step, j, next(8));
    for (; j < d; ++j) delta_column(state, q, k, v[j], decay, beta, q_scale, d, j, o);
}

void conv_silu(const float* history, const float* x, const float* w, int taps, int64_t n_channel,
               float* out) {
    int64_t c = 0;
    for (; taps == 4 && c + 8 <= n_channel; c += 8) {
        const FourTaps four = transpose_taps(w + 4 * c);
        Lane8 sum = Lane8::of(0.0f);
        for (int t = 0; t < 3; ++t)
            sum = fma(Lane8{four.tap[t]}, Lane8::load(history + t * n_channel + c), sum);
        sum = fma(Lane8{four.tap[3]}, Lane8::load(x + c), sum);
        silu_of(sum).store(out + c);
    }
    for (; c < n_channel; c += 8)
        conv_channels(history, x, w, taps, n_channel, c, n_channel - c < 8 ? n_channel - c : 8, out);
}

}  // namespace ft::avx2
