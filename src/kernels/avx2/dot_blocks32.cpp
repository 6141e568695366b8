// Types in blocks of 32 with signed 8-bit codes.
//   Q8_0: @0 d f16, @2 codes i8 [32]
#include "kernels/avx2/dot_tile_signed.h"
#include "kernels/avx2/matmul_rows.h"
#include "kernels/avx2/matmul_types.h"
#include "kernels/avx2/pack_rows.h"

namespace ft::avx2 {

namespace {

struct DotQ8 {
    static constexpr ActKind k_acts = ActKind::q8_32;
    static constexpr size_t k_bytes = 34;
    static constexpr size_t k_group_bytes = 8 * k_bytes;

    [[gnu::always_inline]] static VecF partial(const std::byte* w, size_t stride, const Token& x, int64_t g,
                                               int n, Ahead& ahead) {
        const Vec one = _mm256_set1_epi16(1);
        VecF p = _mm256_setzero_ps();
        for (int b = 0; b < n / 32; b++, w += k_bytes) {
            ahead.fetch(k_rows * k_bytes);
            const Vec q = load(x.q + 256 * g + 32 * b);
            Vec sums[8];
            for (int r = 0; r < 8; r++)
                sums[r] = _mm256_madd_epi16(multiply_signed(load(w + r * stride + 2), q), one);
            p = _mm256_add_ps(p, scaled(halves_of_rows(w, stride), x.d[8 * g + b], sum_lanes8(sums)));
        }
        return p;
    }
};

struct TileQ8 {
    using Pack = PackSigned;
    static constexpr ActKind k_acts = ActKind::q8_32;
    static constexpr size_t k_bytes = 34;
    static constexpr size_t k_group_bytes = 8 * k_bytes;

    static void pack(const std::byte* w, size_t stride, int n, Pack& pack) {
        for (int v = 0; v < 2; v++, w += 8 * stride)
            for (int b = 0; b < n / 32; b++) {
                const std::byte* block = w + b * k_bytes;
                for (int h = 0; h < 2; h++) {
                    Vec q[4];
                    interleave_rows(block + 2 + 16 * h, stride, q);
                    for (int c = 0; c < 4; c++) put_signed(pack, 8 * b + 4 * h + c, v, q[c]);
                }
                pack.d[b][v] = halves_of_rows(block, stride);
            }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int n, TileSums* sums) {
        run_signed32<n_token>(pack, tokens, g, n, sums);
    }
};

}  // namespace

void matmul_q8_0(const MatMul& m) { m.n_token < 3 ? matmul_rows<DotQ8>(m) : matmul_tiles<TileQ8>(m); }

}  // namespace ft::avx2
