// A block of a quantised type as integers: what each type's decoder makes of its bytes, and all that the
// shared dequantisation and dot product (exact.h) need to know of the type.
//
// The layouts come from the GGUF format as the ggml library writes it (ggml-common.h); integers are
// little-endian, nothing in a block is aligned. Beside each decoder stand its fields, @n being a byte offset.
#pragma once

#include <cstdint>

namespace ft {

// 256 values with a scale, and for some types a minimum, per 16 of them (arithmetic.md 1.3). Value i is
//   d * scale[i / 16] * code[i] - dmin * min[i / 16].
// Fractional scales are integers here, a power of two having gone into d. Types without minimums leave dmin
// and min as they are.
struct SuperBlock {
    float d;
    float dmin;
    int32_t scale[16];
    int32_t min[16];
    int8_t code[256];
};

// Smaller blocks (arithmetic.md 1.4): n_values values with a scale, and for some types an offset, per n_step
// of them. Value i is  d[i / n_step] * code[i] + m[i / n_step].  Types without offsets leave m as it is.
template <int n_values, int n_step>
struct SmallBlock {
    static constexpr int k_values = n_values;
    static constexpr int k_step = n_step;
    float d[n_values / n_step];
    float m[n_values / n_step];
    int8_t code[n_values];
};
using Block32 = SmallBlock<32, 32>;

void decode_q4_0(const uint8_t* block, Block32& out);
void decode_q4_1(const uint8_t* block, Block32& out);
void decode_q5_0(const uint8_t* block, Block32& out);
void decode_q5_1(const uint8_t* block, Block32& out);
void decode_q8_0(const uint8_t* block, Block32& out);
void decode_iq4_nl(const uint8_t* block, Block32& out);
void decode_mxfp4(const uint8_t* block, Block32& out);
void decode_nvfp4(const uint8_t* block, SmallBlock<64, 16>& out);
void decode_q1_0(const uint8_t* block, SmallBlock<128, 32>& out);
void decode_q2_0(const uint8_t* block, SmallBlock<64, 32>& out);

void decode_q2_k(const uint8_t* block, SuperBlock& out);
void decode_q3_k(const uint8_t* block, SuperBlock& out);
void decode_q4_k(const uint8_t* block, SuperBlock& out);
void decode_q5_k(const uint8_t* block, SuperBlock& out);
void decode_q6_k(const uint8_t* block, SuperBlock& out);
void decode_iq1_s(const uint8_t* block, SuperBlock& out);
void decode_iq1_m(const uint8_t* block, SuperBlock& out);
void decode_iq2_xxs(const uint8_t* block, SuperBlock& out);
void decode_iq2_xs(const uint8_t* block, SuperBlock& out);
void decode_iq2_s(const uint8_t* block, SuperBlock& out);
void decode_iq3_xxs(const uint8_t* block, SuperBlock& out);
void decode_iq3_s(const uint8_t* block, SuperBlock& out);
void decode_iq4_xs(const uint8_t* block, SuperBlock& out);
void decode_tq1_0(const uint8_t* block, SuperBlock& out);
void decode_tq2_0(const uint8_t* block, SuperBlock& out);

}  // namespace ft
