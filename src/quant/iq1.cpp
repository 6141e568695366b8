// IQ1_S and IQ1_M: a code book of 8 values in -1, 0, 1 that are all shifted by an eighth up or down. In
// eighths, with d taking the 2^-3, the codes are the integers 8 * value +- 1.
#include "base/bytes.h"
#include "quant/codes.h"
#include "quant/half.h"
#include "quant/iq_grids.h"

namespace ft {

namespace {

void place(uint16_t entry, bool shift_down, int8_t* code) {
    for (int k = 0; k < 8; k++) {
        const int value = (entry >> 2 * k & 3) - 1;
        code[k] = static_cast<int8_t>(8 * value + (shift_down ? -1 : 1));
    }
}

}  // namespace

// @0 d half, @2 low index bytes[32],
// @34 u16[8], one per 32 values: 4 x 3 high index bits, 3 bits of scale, the shift
void decode_iq1_s(const uint8_t* block, SuperBlock& out) {
    out.d = half_to_float(load<uint16_t>(block)) * 0x1p-3f;
    for (int k = 0; k < 8; k++) {
        const int high = load<uint16_t>(block + 34 + 2 * k);
        out.scale[2 * k] = out.scale[2 * k + 1] = 2 * (high >> 12 & 7) + 1;
        for (int g = 0; g < 4; g++) {
            const int index = block[2 + 4 * k + g] | (high >> 3 * g & 7) << 8;
            place(k_grid_iq1[index], (high & 0x8000) != 0, out.code + 32 * k + 8 * g);
        }
    }
}

// @0 low index bytes[32], @32 nibbles[32], one per 8 values: 3 high index bits and the shift,
// @48 u16[4]: each four 3-bit scales for 16 values, and in the top nibble a quarter of d (half)
void decode_iq1_m(const uint8_t* block, SuperBlock& out) {
    uint32_t d_bits = 0;
    for (int s = 0; s < 4; s++) {
        const int word = load<uint16_t>(block + 48 + 2 * s);
        d_bits |= static_cast<uint32_t>(word >> 12) << 4 * s;
        for (int j = 0; j < 4; j++) out.scale[4 * s + j] = 2 * (word >> 3 * j & 7) + 1;
    }
    out.d = half_to_float(static_cast<uint16_t>(d_bits)) * 0x1p-3f;
    for (int g = 0; g < 32; g++) {
        const int high = block[32 + g / 2] >> 4 * (g % 2) & 15;
        const int index = block[g] | (high & 7) << 8;
        place(k_grid_iq1[index], (high & 8) != 0, out.code + 8 * g);
    }
}

}  // namespace ft
