// The K types: blocks of 256 with integer sub-scales. Q2_K, Q3_K, Q4_K, Q5_K, Q6_K.
// Where codes are spread over two bits of a byte, h is the half of the block, t the shift and l the byte.
#include "base/bytes.h"
#include "quant/codes.h"
#include "quant/half.h"
#include "quant/nibbles.h"

namespace ft {

namespace {

// The eight 6-bit scales and mins that Q4_K and Q5_K keep in 12 bytes, each for 32 values. Those of
// sub-blocks 0..3 are the low 6 bits of bytes 0..3 and 4..7; of 4..7, four bits in bytes 8..11 and two in the
// top of bytes 0..7.
void decode_scales_k4(const uint8_t* sc, SuperBlock& out) {
    for (int j = 0; j < 8; j++) {
        const int scale = j < 4 ? sc[j] & 63 : (sc[j + 4] & 15) | sc[j - 4] >> 6 << 4;
        const int min = j < 4 ? sc[j + 4] & 63 : sc[j + 4] >> 4 | sc[j] >> 6 << 4;
        out.scale[2 * j] = out.scale[2 * j + 1] = scale;
        out.min[2 * j] = out.min[2 * j + 1] = min;
    }
}

// 4-bit codes of Q4_K and Q5_K.
void decode_nibbles_k4(const uint8_t* qs, int8_t* code) {
    for (int pair = 0; pair < 4; pair++) split_nibbles(qs + 32 * pair, 32, code + 64 * pair);
}

}  // namespace

// @0 scales and mins [16] (lo scale, hi min), @16 qs[64], @80 d half, @82 dmin half
void decode_q2_k(const uint8_t* block, SuperBlock& out) {
    const uint8_t* qs = block + 16;
    out.d = half_to_float(load<uint16_t>(block + 80));
    out.dmin = half_to_float(load<uint16_t>(block + 82));
    for (int j = 0; j < 16; j++) {
        out.scale[j] = block[j] & 15;
        out.min[j] = block[j] >> 4;
    }
    for (int h = 0; h < 2; h++)
        for (int t = 0; t < 4; t++)
            for (int l = 0; l < 32; l++)
                out.code[128 * h + 32 * t + l] = static_cast<int8_t>(qs[32 * h + l] >> 2 * t & 3);
}

// @0 mask[32], @32 qs[64], @96 6-bit scales[12], @108 d half.  A clear bit of the mask takes 4 from the code.
void decode_q3_k(const uint8_t* block, SuperBlock& out) {
    const uint8_t* mask = block;
    const uint8_t* qs = block + 32;
    const uint8_t* sc = block + 96;
    out.d = half_to_float(load<uint16_t>(block + 108));
    for (int j = 0; j < 16; j++) {
        const int low = sc[j % 8] >> 4 * (j / 8) & 15;
        const int high = sc[8 + j % 4] >> 2 * (j / 4) & 3;
        out.scale[j] = (low | high << 4) - 32;
    }
    for (int h = 0; h < 2; h++) {
        for (int t = 0; t < 4; t++) {
            for (int l = 0; l < 32; l++) {
                const int low = qs[32 * h + l] >> 2 * t & 3;
                const int keep = mask[l] >> (4 * h + t) & 1;
                out.code[128 * h + 32 * t + l] = static_cast<int8_t>((low | keep << 2) - 4);
            }
        }
    }
}

// @0 d half, @2 dmin half, @4 6-bit scales and mins [12], @16 qs[128]
void decode_q4_k(const uint8_t* block, SuperBlock& out) {
    out.d = half_to_float(load<uint16_t>(block));
    out.dmin = half_to_float(load<uint16_t>(block + 2));
    decode_scales_k4(block + 4, out);
    decode_nibbles_k4(block + 16, out.code);
}

// @0 d half, @2 dmin half, @4 6-bit scales and mins [12],
// @16 fifth bits[32] (bit j for sub-block j), @48 qs[128]
void decode_q5_k(const uint8_t* block, SuperBlock& out) {
    const uint8_t* high = block + 16;
    out.d = half_to_float(load<uint16_t>(block));
    out.dmin = half_to_float(load<uint16_t>(block + 2));
    decode_scales_k4(block + 4, out);
    decode_nibbles_k4(block + 48, out.code);
    for (int j = 0; j < 8; j++)
        for (int l = 0; l < 32; l++)
            out.code[32 * j + l] = static_cast<int8_t>(out.code[32 * j + l] | (high[l] >> j & 1) << 4);
}

// @0 low nibbles[128], @128 upper two bits[64], @192 scales[16] signed, @208 d half
void decode_q6_k(const uint8_t* block, SuperBlock& out) {
    const int8_t* scale = reinterpret_cast<const int8_t*>(block + 192);
    out.d = half_to_float(load<uint16_t>(block + 208));
    for (int j = 0; j < 16; j++) out.scale[j] = scale[j];
    for (int h = 0; h < 2; h++) {
        for (int t = 0; t < 4; t++) {
            const uint8_t* low = block + 64 * h + 32 * (t % 2);
            const uint8_t* high = block + 128 + 32 * h;
            for (int l = 0; l < 32; l++) {
                const int nibble = low[l] >> 4 * (t / 2) & 15;
                const int upper = high[l] >> 2 * t & 3;
                out.code[128 * h + 32 * t + l] = static_cast<int8_t>((nibble | upper << 4) - 32);
            }
        }
    }
}

}  // namespace ft
