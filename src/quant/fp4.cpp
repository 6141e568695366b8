// 4-bit floats (e2m1) with scales of 8 bits: MXFP4, NVFP4. The codes are twice the values, the scales half.
#include <bit>

#include "quant/codes.h"
#include "quant/nibbles.h"

namespace ft {

namespace {

constexpr int8_t k_twice_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(e - 128): half of the power that the byte stands for. 0 and 1 give subnormals; 255 is not special.
float half_of_e8m0(uint32_t e) { return std::bit_cast<float>(e < 2 ? 0x200000u << e : (e - 1) << 23); }

// Half of an unsigned float of 4 bits exponent (offset 7) and 3 bits fraction; 0x7f is zero too.
float half_of_ue4m3(uint32_t byte) {
    const uint32_t exponent = byte >> 3 & 15;
    const uint32_t fraction = byte & 7;
    if (byte == 0x7f) return 0.0f;
    if (exponent == 0) return static_cast<float>(fraction) * 0x1p-10f;
    return std::bit_cast<float>((exponent + 119) << 23 | fraction << 20);
}

}  // namespace

// @0 exponent, @1 qs[16]
void decode_mxfp4(const uint8_t* block, Block32& out) {
    out.d[0] = half_of_e8m0(block[0]);
    split_nibbles(block + 1, 16, k_twice_e2m1, out.code);
}

// @0 scales[4], one per 16 values, @4 qs[32], 8 bytes per 16 values
void decode_nvfp4(const uint8_t* block, SmallBlock<64, 16>& out) {
    for (int s = 0; s < 4; s++) {
        out.d[s] = half_of_ue4m3(block[s]);
        split_nibbles(block + 4 + 8 * s, 8, k_twice_e2m1, out.code + 16 * s);
    }
}

}  // namespace ft
