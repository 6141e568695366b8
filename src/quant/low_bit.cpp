// Codes of one or two bits, or of one base-3 digit, with a plain scale: Q1_0, Q2_0, TQ1_0, TQ2_0.
#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "quant/codes.h"
#include "quant/half.h"

namespace ft {

namespace {

// Digit n, from the most significant on, of `count` bytes that hold base-3 digits as fractions of 256; code
// digit - 1.
void place_digits(const uint8_t* bytes, int count, int n_digits, int8_t* code) {
    int power = 1;
    for (int n = 0; n < n_digits; n++) {
        for (int i = 0; i < count; i++) {
            const int fraction = bytes[i] * power & 255;
            code[n * count + i] = static_cast<int8_t>((fraction * 3 >> 8) - 1);
        }
        power *= 3;
    }
}

}  // namespace

// @0 d half, @2 bits[16]: set is +1, clear -1
void decode_q1_0(const uint8_t* block, SmallBlock<128, 32>& out) {
    std::fill(std::begin(out.d), std::end(out.d), half_to_float(load<uint16_t>(block)));
    for (int i = 0; i < 128; i++) out.code[i] = static_cast<int8_t>(2 * (block[2 + i / 8] >> i % 8 & 1) - 1);
}

// @0 d half, @2 qs[16], four neighbouring values to a byte
void decode_q2_0(const uint8_t* block, SmallBlock<64, 32>& out) {
    std::fill(std::begin(out.d), std::end(out.d), half_to_float(load<uint16_t>(block)));
    for (int i = 0; i < 64; i++) out.code[i] = static_cast<int8_t>((block[2 + i / 4] >> 2 * (i % 4) & 3) - 1);
}

// @0 qs[48]: 5 digits a byte, @48 qh[4]: 4 digits a byte, @52 d half
void decode_tq1_0(const uint8_t* block, SuperBlock& out) {
    out.d = half_to_float(load<uint16_t>(block + 52));
    std::fill(std::begin(out.scale), std::end(out.scale), 1);
    place_digits(block, 32, 5, out.code);
    place_digits(block + 32, 16, 5, out.code + 160);
    place_digits(block + 48, 4, 4, out.code + 240);
}

// @0 qs[64], @64 d half
void decode_tq2_0(const uint8_t* block, SuperBlock& out) {
    out.d = half_to_float(load<uint16_t>(block + 64));
    std::fill(std::begin(out.scale), std::end(out.scale), 1);
    for (int h = 0; h < 2; h++)
        for (int t = 0; t < 4; t++)
            for (int l = 0; l < 32; l++)
                out.code[128 * h + 32 * t + l] = static_cast<int8_t>((block[32 * h + l] >> 2 * t & 3) - 1);
}

}  // namespace ft
