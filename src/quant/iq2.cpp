// IQ2_XXS, IQ2_XS, IQ2_S: a code book of 8 magnitudes in 8, 25, 43, and their signs. The scale of a sub-block
// is (0.5 + s) / 4; the codes here have scale 2s + 1, and d takes the 2^-3.
#include "base/bytes.h"
#include "quant/codes.h"
#include "quant/half.h"
#include "quant/iq_grids.h"
#include "quant/iq_signs.h"

namespace ft {

namespace {

// 2-bit numbers of the code books; a 3 does not occur in them.
constexpr int8_t k_values[4] = {8, 25, 43, 0};

void place(uint16_t entry, uint32_t signs, int8_t* code) {
    for (int k = 0; k < 8; k++) code[k] = with_sign(k_values[entry >> 2 * k & 3], signs, k);
}

float scale_of(const uint8_t* block) { return half_to_float(load<uint16_t>(block)) * 0x1p-3f; }

// A byte per 32 values, the low nibble for the first 16.
void place_scales(const uint8_t* scales, SuperBlock& out) {
    for (int j = 0; j < 16; j++) out.scale[j] = 2 * (scales[j / 2] >> 4 * (j % 2) & 15) + 1;
}

}  // namespace

// @0 d half, @2 per 32 values: 4 index bytes, then a u32 of 4 x 7 signs and 4 bits of scale
void decode_iq2_xxs(const uint8_t* block, SuperBlock& out) {
    out.d = scale_of(block);
    for (int k = 0; k < 8; k++) {
        const uint8_t* index = block + 2 + 8 * k;
        const auto rest = load<uint32_t>(index + 4);
        out.scale[2 * k] = out.scale[2 * k + 1] = static_cast<int>(2 * (rest >> 28) + 1);
        for (int g = 0; g < 4; g++)
            place(k_grid_iq2_xxs[index[g]], signs_of_7(rest >> 7 * g & 127), out.code + 32 * k + 8 * g);
    }
}

// @0 d half, @2 u16[32], one per 8 values: 9 index bits and 7 signs, @66 scales[8]
void decode_iq2_xs(const uint8_t* block, SuperBlock& out) {
    out.d = scale_of(block);
    place_scales(block + 66, out);
    for (int g = 0; g < 32; g++) {
        const uint32_t word = load<uint16_t>(block + 2 + 2 * g);
        place(k_grid_iq2_xs[word & 511], signs_of_7(word >> 9), out.code + 8 * g);
    }
}

// @0 d half, @2 low index bytes[32], @34 signs[32], @66 high index bits[8] (2 per 8 values), @74 scales[8]
void decode_iq2_s(const uint8_t* block, SuperBlock& out) {
    out.d = scale_of(block);
    place_scales(block + 74, out);
    for (int g = 0; g < 32; g++) {
        const int high = block[66 + g / 4] >> 2 * (g % 4) & 3;
        place(k_grid_iq2_s[block[2 + g] | high << 8], block[34 + g], out.code + 8 * g);
    }
}

}  // namespace ft
