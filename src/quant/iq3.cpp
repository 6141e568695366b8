// IQ3_XXS and IQ3_S: two code book entries of 4 magnitudes per 8 values, and their signs. The scale of a
// sub-block is (0.5 + s) / 2 for IQ3_XXS (the codes have 2s + 1, d takes the 2^-2) and 2s + 1 for IQ3_S.
#include "base/bytes.h"
#include "quant/codes.h"
#include "quant/half.h"
#include "quant/iq_grids.h"
#include "quant/iq_signs.h"

namespace ft {

namespace {

constexpr int8_t k_values_xxs[8] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr int8_t k_values_s[8] = {1, 3, 5, 7, 9, 11, 13, 15};

void place(const int8_t* values, uint16_t first, uint16_t second, uint32_t signs, int8_t* code) {
    for (int k = 0; k < 4; k++) {
        code[k] = with_sign(values[first >> 3 * k & 7], signs, k);
        code[4 + k] = with_sign(values[second >> 3 * k & 7], signs, 4 + k);
    }
}

}  // namespace

// @0 d half, @2 index bytes[64], @66 per 32 values a u32 of 4 x 7 signs and 4 bits of scale
void decode_iq3_xxs(const uint8_t* block, SuperBlock& out) {
    out.d = half_to_float(load<uint16_t>(block)) * 0x1p-2f;
    for (int k = 0; k < 8; k++) {
        const uint8_t* index = block + 2 + 8 * k;
        const auto rest = load<uint32_t>(block + 66 + 4 * k);
        out.scale[2 * k] = out.scale[2 * k + 1] = static_cast<int>(2 * (rest >> 28) + 1);
        for (int g = 0; g < 4; g++)
            place(k_values_xxs, k_grid_iq3_xxs[index[2 * g]], k_grid_iq3_xxs[index[2 * g + 1]],
                  signs_of_7(rest >> 7 * g & 127), out.code + 32 * k + 8 * g);
    }
}

// @0 d half, @2 low index bytes[64], @66 ninth index bits[8], @74 signs[32], @106 scales[4] (lo first)
void decode_iq3_s(const uint8_t* block, SuperBlock& out) {
    out.d = half_to_float(load<uint16_t>(block));
    for (int k = 0; k < 8; k++) {
        const uint8_t* index = block + 2 + 8 * k;
        const int high = block[66 + k];
        out.scale[2 * k] = out.scale[2 * k + 1] = 2 * (block[106 + k / 2] >> 4 * (k % 2) & 15) + 1;
        for (int g = 0; g < 4; g++) {
            const int first = index[2 * g] | (high >> 2 * g & 1) << 8;
            const int second = index[2 * g + 1] | (high >> (2 * g + 1) & 1) << 8;
            place(k_values_s, k_grid_iq3_s[first], k_grid_iq3_s[second], block[74 + 4 * k + g],
                  out.code + 32 * k + 8 * g);
        }
    }
}

}  // namespace ft
