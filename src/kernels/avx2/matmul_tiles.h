// Prefill: 16 weight rows against many tokens.
//
// For 16 rows and one group of 256 columns the weights are unpacked once into scratch that stays in L1; then
// all tokens of a block run over it, 4 at a time. Token blocks are short enough for their activations to stay
// in L2.
//
// A Tile says
//   k_acts, k_group_bytes   as for a Dot (matmul_rows.h)
//   Pack                    the scratch of 16 rows
//   pack(w, stride, n, pack)                        unpacks n columns of the 16 rows at w, w + stride, ...
//   run<n_token>(pack, tokens, g, n, sums)          sums[t][r] = p if g is 0, else sums[t][r] + p
#pragma once

#include "kernels/avx2/activations.h"
#include "kernels/avx2/simd.h"
#include "kernels/kernels.h"

namespace ft::avx2 {

constexpr int k_tile_rows = 16;
constexpr int k_tile_tokens = 4;
constexpr int k_block_tokens = 128;
constexpr int64_t k_tile_columns = 256;

// Sums of 16 rows of one token, as they grow group by group.
using TileSums = float[k_tile_rows];

// Prefetch of the next 16 rows in linear order, at the pace of the present ones: for each group as many bytes
// as it has, in equal steps between the tokens. Into the second level: the first holds the packed rows.
class TileAhead {
 public:
    TileAhead(const std::byte* at, int n_byte, int n_step)
        : at_(reinterpret_cast<const char*>(at)), end_(at_ + n_byte), step_((n_byte / n_step + 64) & ~63) {}
    [[gnu::always_inline]] void fetch() {
        const char* stop = end_ - at_ < step_ ? end_ : at_ + step_;
        for (; at_ < stop; at_ += 64) _mm_prefetch(at_, _MM_HINT_T1);
    }

 private:
    const char* at_;
    const char* end_;
    int step_;
};

namespace {

// 8 rows of a token's sums: p of group g is added, or begins them.
[[gnu::always_inline]] inline void add_partial(float* sums, int64_t g, VecF p) {
    _mm256_store_ps(sums, g == 0 ? p : _mm256_add_ps(_mm256_load_ps(sums), p));
}

template <class Tile>
void run_tokens(const typename Tile::Pack& pack, const Token* tokens, int n_token, int64_t g, int n,
                TileSums* sums, TileAhead ahead) {
    int t = 0;
    for (; t + k_tile_tokens <= n_token; t += k_tile_tokens) {
        ahead.fetch();
        Tile::template run<k_tile_tokens>(pack, tokens + t, g, n, sums + t);
    }
    ahead.fetch();
    if (n_token - t == 3) Tile::template run<3>(pack, tokens + t, g, n, sums + t);
    if (n_token - t == 2) Tile::template run<2>(pack, tokens + t, g, n, sums + t);
    if (n_token - t == 1) Tile::template run<1>(pack, tokens + t, g, n, sums + t);
}

// Scratch of one call: the packed rows, the growing sums, a copy of the last rows where they are fewer
// than 16.
template <class Tile>
struct TileScratch {
    alignas(64) typename Tile::Pack pack;
    alignas(64) TileSums sums[k_block_tokens];
    alignas(64) std::byte copy[k_tile_rows * Tile::k_group_bytes];
    Token tokens[k_block_tokens];
};

// 16 rows (n_row of them real) from `row` on, all groups, tokens [first, first + n_token).
template <class Tile>
void tile_rows(const MatMul& m, int64_t row, int first, int n_token, TileScratch<Tile>& s) {
    const auto n_row = static_cast<size_t>(lesser<int64_t>(k_tile_rows, m.n_row - row));
    const std::byte* w = m.weights + static_cast<size_t>(row) * m.row_bytes;
    const int n_step = n_token / k_tile_tokens + 1;
    const std::byte* next = w + k_tile_rows * m.row_bytes;
    if (row + k_tile_rows >= m.n_row && m.next != nullptr) next = m.next;
    for (int64_t g = 0; g * k_tile_columns < m.n_col; g++) {
        const int n = static_cast<int>(lesser<int64_t>(m.n_col - g * k_tile_columns, k_tile_columns));
        const size_t start = static_cast<size_t>(g) * Tile::k_group_bytes;
        const size_t n_byte = lesser<size_t>(Tile::k_group_bytes, m.row_bytes - start);
        if (n_row == k_tile_rows) {
            Tile::pack(w + start, m.row_bytes, n, s.pack);
        } else {
            for (size_t r = 0; r < n_row; r++)
                std::memcpy(s.copy + r * Tile::k_group_bytes, w + r * m.row_bytes + start, n_byte);
            Tile::pack(s.copy, Tile::k_group_bytes, n, s.pack);
        }
        const TileAhead ahead(next + k_tile_rows * start, static_cast<int>(k_tile_rows * n_byte), n_step);
        run_tokens<Tile>(s.pack, s.tokens, n_token, g, n, s.sums, ahead);
    }
    for (int t = 0; t < n_token; t++) std::memcpy(m.out[first + t] + row, s.sums[t], n_row * sizeof(float));
}

template <class Tile>
void matmul_tiles(const MatMul& m) {
    const ActParts parts = act_parts(Tile::k_acts, m.n_col);
    TileScratch<Tile> scratch;
    std::memset(scratch.copy, 0, sizeof scratch.copy);
    for (int first = 0; first < m.n_token; first += k_block_tokens) {
        const int n_token = lesser(k_block_tokens, m.n_token - first);
        for (int t = 0; t < n_token; t++) scratch.tokens[t] = token_at(m.acts[first + t], parts);
        for (int64_t row = 0; row < m.n_row; row += k_tile_rows)
            tile_rows<Tile>(m, row, first, n_token, scratch);
    }
}

}  // namespace

}  // namespace ft::avx2
