// F32, F16 and BF16 rows with f32 activations (arithmetic.md 1.1): 32 lanes of fma per group of 256 columns,
// lanes added by halving. Any number of columns.
#include "kernels/avx2/activations.h"
#include "kernels/avx2/matmul_tiles.h"
#include "kernels/avx2/matmul_types.h"
#include "kernels/avx2/simd.h"

namespace ft::avx2 {

namespace {

struct ReadF32 {
    static constexpr size_t k_bytes = 4;
    [[gnu::always_inline]] static VecF eight(const std::byte* w) {
        return _mm256_loadu_ps(reinterpret_cast<const float*>(w));
    }
};
struct ReadF16 {
    static constexpr size_t k_bytes = 2;
    [[gnu::always_inline]] static VecF eight(const std::byte* w) { return _mm256_cvtph_ps(load16(w)); }
};
struct ReadBF16 {
    static constexpr size_t k_bytes = 2;
    [[gnu::always_inline]] static VecF eight(const std::byte* w) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(w)), 16));
    }
};

// Lane r of the result = lanes of v[r] added by halving (4, 2, 1), r < 8.
[[gnu::always_inline]] inline VecF halve_lanes8(const VecF* v) {
    VecF fours[4], pairs[2];
    for (int k = 0; k < 4; k++)
        fours[k] = _mm256_add_ps(_mm256_permute2f128_ps(v[k], v[k + 4], 0x20),
                                 _mm256_permute2f128_ps(v[k], v[k + 4], 0x31));
    for (int k = 0; k < 2; k++)
        pairs[k] = _mm256_add_ps(_mm256_shuffle_ps(fours[2 * k], fours[2 * k + 1], 0x44),
                                 _mm256_shuffle_ps(fours[2 * k], fours[2 * k + 1], 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(pairs[0], pairs[1], 0x88),
                         _mm256_shuffle_ps(pairs[0], pairs[1], 0xdd));
}

// The last 1..31 columns of a row, lanes beyond them left alone: an fma with zeros could turn -0 into +0.
template <class Read>
[[gnu::always_inline]] inline void add_tail(const std::byte* w, const float* x, int n, VecF* lanes) {
    alignas(32) std::byte w_copy[32 * Read::k_bytes] = {};
    alignas(32) float x_copy[32] = {};
    std::memcpy(w_copy, w, static_cast<size_t>(n) * Read::k_bytes);
    std::memcpy(x_copy, x, static_cast<size_t>(n) * sizeof(float));
    const Vec index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (int l = 0; l < 4; l++) {
        const VecF sum = _mm256_fmadd_ps(Read::eight(w_copy + 8 * l * Read::k_bytes),
                                         _mm256_load_ps(x_copy + 8 * l), lanes[l]);
        const Vec present = _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 8 * l), index);
        lanes[l] = _mm256_blendv_ps(lanes[l], sum, _mm256_castsi256_ps(present));
    }
}

// One row, one group: the 32 lanes added to 8 (by 16, then by 8).
constexpr int k_fetch_ahead = 1024;  // bytes

template <class Read>
[[gnu::always_inline]] inline VecF group_lanes(const std::byte* w, const float* x, int n) {
    VecF lanes[4];
    for (int l = 0; l < 4; l++) lanes[l] = _mm256_setzero_ps();
    int i = 0;
    for (; i + 32 <= n; i += 32) {
        const std::byte* at = w + static_cast<size_t>(i) * Read::k_bytes;
        for (size_t b = 0; b < 32 * Read::k_bytes; b += 64)
            _mm_prefetch(reinterpret_cast<const char*>(at) + k_fetch_ahead + b, _MM_HINT_T0);
        for (int l = 0; l < 4; l++)
            lanes[l] = _mm256_fmadd_ps(Read::eight(at + 8 * l * Read::k_bytes),
                                       _mm256_loadu_ps(x + i + 8 * l), lanes[l]);
    }
    if (i < n) add_tail<Read>(w + static_cast<size_t>(i) * Read::k_bytes, x + i, n - i, lanes);
    return _mm256_add_ps(_mm256_add_ps(lanes[0], lanes[2]), _mm256_add_ps(lanes[1], lanes[3]));
}

// Decode. Row after row, so that memory is read in one line: up to 8 groups of one row, then the same groups
// of the next; the 8 lanes left of each wait in scratch until those of 8 rows are there.
constexpr int k_chunk = 8;
struct Waiting {
    VecF lanes[k_chunk][8];
};

// Up to 8 rows at w against one activation row -> the 8 results.
template <class Read>
VecF eight_rows(const std::byte* w, size_t row_bytes, int n_row, const float* x, int64_t n_col,
                Waiting& waiting) {
    const int64_t n_group = (n_col + 255) / 256;
    VecF sum = _mm256_setzero_ps();
    for (int64_t first = 0; first < n_group; first += k_chunk) {
        const int64_t last = lesser(first + k_chunk, n_group);
        for (int r = 0; r < n_row; r++)
            for (int64_t g = first; g < last; g++) {
                const std::byte* at =
                    w + static_cast<size_t>(r) * row_bytes + static_cast<size_t>(g) * 256 * Read::k_bytes;
                const int n = static_cast<int>(lesser<int64_t>(256, n_col - 256 * g));
                waiting.lanes[g - first][r] = group_lanes<Read>(at, x + 256 * g, n);
            }
        for (int64_t g = first; g < last; g++) {
            const VecF p = halve_lanes8(waiting.lanes[g - first]);
            sum = g == 0 ? p : _mm256_add_ps(sum, p);
        }
    }
    return sum;
}

template <class Read>
void matmul_float_rows(const MatMul& m) {
    Waiting waiting;
    std::memset(&waiting, 0, sizeof waiting);
    for (int64_t row = 0; row < m.n_row; row += 8) {
        const int n_row = static_cast<int>(lesser<int64_t>(8, m.n_row - row));
        const std::byte* w = m.weights + static_cast<size_t>(row) * m.row_bytes;
        for (int t = 0; t < m.n_token; t++) {
            const float* x = reinterpret_cast<const float*>(m.acts[t]);
            alignas(32) float out[8];
            _mm256_store_ps(out, eight_rows<Read>(w, m.row_bytes, n_row, x, m.n_col, waiting));
            std::memcpy(m.out[t] + row, out, static_cast<size_t>(n_row) * sizeof(float));
        }
    }
}

// Prefill: two rows x 4 tokens, a quarter of the 32 lanes at a time, so that 8 sums of fma are under way.
struct PackFloat {
    alignas(64) float w[k_tile_rows][256];
};

template <class Read>
struct TileFloat {
    using Pack = PackFloat;
    static constexpr ActKind k_acts = ActKind::f32;
    static constexpr size_t k_group_bytes = 256 * Read::k_bytes;

    static void pack(const std::byte* w, size_t stride, int n, Pack& pack) {
        for (int r = 0; r < k_tile_rows; r++, w += stride) {
            int i = 0;
            for (; i + 8 <= n; i += 8)
                _mm256_store_ps(pack.w[r] + i, Read::eight(w + static_cast<size_t>(i) * Read::k_bytes));
            if (i == n) continue;
            alignas(32) std::byte copy[8 * Read::k_bytes] = {};
            std::memcpy(copy, w + static_cast<size_t>(i) * Read::k_bytes,
                        static_cast<size_t>(n - i) * Read::k_bytes);
            _mm256_store_ps(pack.w[r] + i, Read::eight(copy));
        }
    }

    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int n, TileSums* sums) {
        const float* x[n_token];
        for (int t = 0; t < n_token; t++) x[t] = reinterpret_cast<const float*>(tokens[t].x) + 256 * g;
        for (int r = 0; r < k_tile_rows; r += 2) {
            VecF lanes[8];  // row r of tokens 0..3, then row r + 1
            if (n % 32 == 0) two_rows<n_token>(pack.w[r], x, n, lanes);
            else two_rows_any<n_token>(pack.w[r], x, n, lanes);
            alignas(32) float p[8];
            _mm256_store_ps(p, halve_lanes8(lanes));
            for (int t = 0; t < n_token; t++)
                for (int i = 0; i < 2; i++)
                    sums[t][r + i] = g == 0 ? p[4 * i + t] : sums[t][r + i] + p[4 * i + t];
        }
    }

 private:
    // Lanes 8l .. 8l + 7 of the 32, of two rows and all tokens: steps i = 8l, 8l + 32, ... below n.
    template <int n_token>
    [[gnu::always_inline]] static void quarter(const float* w, const float* const* x, int n, int l,
                                               VecF (*out)[2]) {
        VecF sum[n_token][2];
        for (int t = 0; t < n_token; t++) sum[t][0] = sum[t][1] = _mm256_setzero_ps();
#pragma GCC unroll 2
        for (int i = 8 * l; i < n; i += 32) {
            const VecF w0 = _mm256_load_ps(w + i), w1 = _mm256_load_ps(w + 256 + i);
#pragma GCC unroll 4
            for (int t = 0; t < n_token; t++) {
                VecF xt = _mm256_loadu_ps(x[t] + i);
                keep(xt);  // one load for two fma
                sum[t][0] = _mm256_fmadd_ps(w0, xt, sum[t][0]);
                sum[t][1] = _mm256_fmadd_ps(w1, xt, sum[t][1]);
                keep(sum[t][0]);
                keep(sum[t][1]);
            }
        }
        for (int t = 0; t < n_token; t++)
            for (int i = 0; i < 2; i++) out[t][i] = sum[t][i];
    }
    template <int n_token>
    [[gnu::always_inline]] static void two_rows(const float* w, const float* const* x, int n, VecF* lanes) {
        VecF quarters[4][n_token][2];
#pragma GCC unroll 1
        for (int l = 0; l < 4; l++) quarter<n_token>(w, x, n, l, quarters[l]);
        for (int k = 0; k < 8; k++) lanes[k] = _mm256_setzero_ps();
        for (int t = 0; t < n_token; t++)
            for (int i = 0; i < 2; i++)
                lanes[4 * i + t] = _mm256_add_ps(_mm256_add_ps(quarters[0][t][i], quarters[2][t][i]),
                                                 _mm256_add_ps(quarters[1][t][i], quarters[3][t][i]));
    }
    // A last group that is no multiple of 32 columns.
    template <int n_token>
    static void two_rows_any(const float* w, const float* const* x, int n, VecF* lanes) {
        for (int k = 0; k < 8; k++) lanes[k] = _mm256_setzero_ps();
        for (int t = 0; t < n_token; t++)
            for (int i = 0; i < 2; i++)
                lanes[4 * i + t] =
                    group_lanes<ReadF32>(reinterpret_cast<const std::byte*>(w + 256 * i), x[t], n);
    }
};

constexpr int k_least_tile_tokens = 6;  // fewer: their weights come from the second-level cache again
template <class Read>
void matmul_float(const MatMul& m) {
    m.n_token < k_least_tile_tokens ? matmul_float_rows<Read>(m) : matmul_tiles<TileFloat<Read>>(m);
}

}  // namespace

void matmul_f32(const MatMul& m) { matmul_float<ReadF32>(m); }
void matmul_f16(const MatMul& m) { matmul_float<ReadF16>(m); }
void matmul_bf16(const MatMul& m) { matmul_float<ReadBF16>(m); }

}  // namespace ft::avx2
