// Q6_K: blocks of 256, 16 sub-blocks of 16 with 8-bit scales.
//   @0 low four bits [128], @128 high two bits [64], @192 scales i8 [16], @208 d f16; code - 32
#include "kernels/avx2/dot_sub16.h"

#include "kernels/avx2/matmul_types.h"

namespace ft::avx2 {

namespace {

struct LayoutQ6K {
    static constexpr size_t k_bytes = 210;
    static constexpr int k_d = 208;
    static constexpr int k_down = 0;

    // The four sub-block pairs (32 columns each) of half n, from its bytes: low bits a and b, high bits h.
    [[gnu::always_inline]] static void codes(Vec a, Vec b, Vec h, Vec* q) {
        const Vec nibble = _mm256_set1_epi8(15), top = _mm256_set1_epi8(48);
        q[0] = _mm256_or_si256(_mm256_and_si256(a, nibble), _mm256_and_si256(_mm256_slli_epi16(h, 4), top));
        q[1] = _mm256_or_si256(_mm256_and_si256(b, nibble), _mm256_and_si256(_mm256_slli_epi16(h, 2), top));
        q[2] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(a, 4), nibble), _mm256_and_si256(h, top));
        q[3] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(b, 4), nibble),
                               _mm256_and_si256(_mm256_srli_epi16(h, 2), top));
    }
    template <int n>
    [[gnu::always_inline]] static void row_codes(const std::byte* w, Vec* q) {
        codes(load(w + 64 * n), load(w + 64 * n + 32), load(w + 128 + 32 * n), q);
    }
    // 16 columns of each of the four sub-block pairs of half n, of 8 rows: q[i][c], c = 4 columns.
    template <int n>
    [[gnu::always_inline]] static void tile_codes(const std::byte* w, size_t stride, int h, Vec (*q)[4]) {
        Vec a[4], b[4], top[4], out[4];
        interleave_rows(w + 64 * n + 16 * h, stride, a);
        interleave_rows(w + 64 * n + 32 + 16 * h, stride, b);
        interleave_rows(w + 128 + 32 * n + 16 * h, stride, top);
        for (int c = 0; c < 4; c++) {
            codes(a[c], b[c], top[c], out);
            for (int i = 0; i < 4; i++) q[i][c] = out[i];
        }
    }
    [[gnu::always_inline]] static Half scales(const std::byte* w) { return load16(w + 192); }
};

}  // namespace

void matmul_q6_k(const MatMul& m) {
    m.n_token < 2 ? matmul_rows<DotSub16<LayoutQ6K>>(m) : matmul_tiles<TileSub16<LayoutQ6K>>(m);
}

}  // namespace ft::avx2
