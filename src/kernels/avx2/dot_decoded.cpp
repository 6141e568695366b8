// Types whose blocks the scalar decoders of quant/ unpack: prefill only, where that is paid once for many
// tokens.
#include "kernels/avx2/dot_signed256.h"
#include "kernels/avx2/matmul_types.h"
#include "quant/codes.h"

namespace ft::avx2 {

namespace {

template <void (*decode)(const uint8_t*, SuperBlock&), size_t bytes>
struct TileDecoded {
    using Pack = Pack16;
    static constexpr ActKind k_acts = ActKind::q8_256;
    static constexpr size_t k_group_bytes = bytes;

    static void pack(const std::byte* w, size_t stride, int, Pack& pack) {
        CodeRows rows;
        SuperBlock block;
        for (int v = 0; v < 2; v++) {
            alignas(32) float d[8];
            for (int r = 0; r < 8; r++, w += stride) {
                decode(reinterpret_cast<const uint8_t*>(w), block);
                std::memcpy(rows.code[r], block.code, sizeof block.code);
                for (int j = 0; j < 16; j++)
                    rows.scale[r][j % 2 * 8 + j / 2] = static_cast<int16_t>(block.scale[j]);
                d[r] = block.d;
            }
            put_code_rows(rows, v, pack);
            pack.d[0][v] = _mm256_load_ps(d);
        }
    }
    template <int n_token>
    static void run(const Pack& pack, const Token* tokens, int64_t g, int, TileSums* sums) {
        run_tile16_by256<n_token>(pack, tokens, g, sums);
    }
};

}  // namespace

void matmul_tq1_0(const MatMul& m) { matmul_tiles<TileDecoded<decode_tq1_0, 54>>(m); }
void matmul_tq2_0(const MatMul& m) { matmul_tiles<TileDecoded<decode_tq2_0, 66>>(m); }

}  // namespace ft::avx2
