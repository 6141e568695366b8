// 4-bit codes into a table of 16 values: IQ4_NL (blocks of 32) and IQ4_XS (blocks of 256).
#include "base/bytes.h"
#include "quant/codes.h"
#include "quant/half.h"
#include "quant/nibbles.h"

namespace ft {

namespace {

constexpr int8_t k_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace

// @0 d half, @2 qs[16]
void decode_iq4_nl(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    split_nibbles(block + 2, 16, k_values, out.code);
}

// @0 d half, @2 upper two bits of 8 scales u16, @4 their low nibbles[4], @8 qs[128]
void decode_iq4_xs(const uint8_t* block, SuperBlock& out) {
    const int high = load<uint16_t>(block + 2);
    out.d = half_to_float(load<uint16_t>(block));
    for (int k = 0; k < 8; k++) {
        const int low = block[4 + k / 2] >> 4 * (k % 2) & 15;
        out.scale[2 * k] = out.scale[2 * k + 1] = (low | (high >> 2 * k & 3) << 4) - 32;
        split_nibbles(block + 8 + 16 * k, 16, k_values, out.code + 32 * k);
    }
}

}  // namespace ft
