// Decode: one activation row against 8 weight rows in step.
//
// A Dot of quantised weights says
//   k_acts                  the kind of its activations
//   k_group_bytes           bytes of a full group of 256 columns of one row
//   partial(w, stride, x, g, n, ahead) -> VecF
//                           lane r = p (arithmetic.md 1.3, 1.4) of group g, n columns, of the row at w + r *
//                           stride, r < 8. w is the group's first byte in row 0. Calls ahead.fetch for all
//                           bytes it reads.
#pragma once

#include "kernels/avx2/activations.h"
#include "kernels/avx2/simd.h"
#include "kernels/kernels.h"

namespace ft::avx2 {

constexpr int k_rows = 8;           // rows in step
constexpr int64_t k_columns = 256;  // columns of a group

// Prefetch of the next 8 rows in linear order, at the pace at which the present ones are read. Rows read in
// step look random to the hardware: from RAM this doubles the speed. Further ahead gains nothing.
class Ahead {
 public:
    // steps: false to stay where it is, when the present tile is read for a further token.
    Ahead(const std::byte* at, bool steps)
        : at_(reinterpret_cast<const char*>(at)), steps_(steps ? ~0u : 0u) {}
    [[gnu::always_inline]] void fetch(unsigned n_byte) {
        for (unsigned i = 0; i < n_byte; i += 64) _mm_prefetch(at_ + i, _MM_HINT_T0);
        at_ += n_byte & steps_;
    }

 private:
    const char* at_;
    unsigned steps_;
};

namespace {

// Sum over the groups of 8 rows at w.
template <class Dot>
[[gnu::always_inline]] inline VecF sum_of_groups(const std::byte* w, size_t stride, const Token& x,
                                                 int64_t n_col, Ahead& ahead) {
    VecF sum = _mm256_setzero_ps();
    for (int64_t g = 0; g * k_columns < n_col; g++) {
        const int n = static_cast<int>(lesser<int64_t>(n_col - g * k_columns, k_columns));
        const VecF p = Dot::partial(w + g * Dot::k_group_bytes, stride, x, g, n, ahead);
        sum = g == 0 ? p : _mm256_add_ps(sum, p);
    }
    return sum;
}

// The last 1..7 rows: each group is copied, so that nothing behind the last row is read.
template <class Dot>
void last_rows(const MatMul& m, const ActParts& parts, int64_t first) {
    const auto n_left = static_cast<size_t>(m.n_row - first);
    const std::byte* w = m.weights + static_cast<size_t>(first) * m.row_bytes;
    alignas(64) std::byte copy[k_rows * Dot::k_group_bytes] = {};
    for (int t = 0; t < m.n_token; t++) {
        const Token x = token_at(m.acts[t], parts);
        VecF sum = _mm256_setzero_ps();
        for (int64_t g = 0; g * k_columns < m.n_col; g++) {
            const int n = static_cast<int>(lesser<int64_t>(m.n_col - g * k_columns, k_columns));
            const size_t start = static_cast<size_t>(g) * Dot::k_group_bytes;
            // of the columns that there are: rows may stand further apart than they are long
            const size_t n_byte = static_cast<size_t>(n) * Dot::k_group_bytes / k_columns;
            for (size_t r = 0; r < n_left; r++)
                std::memcpy(copy + r * Dot::k_group_bytes, w + r * m.row_bytes + start, n_byte);
            Ahead nothing(copy, false);
            const VecF p = Dot::partial(copy, Dot::k_group_bytes, x, g, n, nothing);
            sum = g == 0 ? p : _mm256_add_ps(sum, p);
        }
        alignas(32) float out[k_rows];
        _mm256_store_ps(out, sum);
        std::memcpy(m.out[t] + first, out, n_left * sizeof(float));
    }
}

template <class Dot>
void matmul_rows(const MatMul& m) {
    const ActParts parts = act_parts(Dot::k_acts, m.n_col);
    const size_t tile_bytes = k_rows * m.row_bytes;
    const std::byte* w = m.weights;
    int64_t row = 0;
    for (; row + k_rows <= m.n_row; row += k_rows, w += tile_bytes) {
        const bool last = row + 2 * k_rows > m.n_row;
        const std::byte* after = last && m.next != nullptr ? m.next : w + tile_bytes;
        for (int t = 0; t < m.n_token; t++) {
            Ahead ahead(after, t == 0);
            const VecF sum = sum_of_groups<Dot>(w, m.row_bytes, token_at(m.acts[t], parts), m.n_col, ahead);
            _mm256_storeu_ps(m.out[t] + row, sum);
        }
    }
    if (row < m.n_row) last_rows<Dot>(m, parts, row);
}

}  // namespace

}  // namespace ft::avx2
