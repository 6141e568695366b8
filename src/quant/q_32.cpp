// The types of 32 values with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
#include <cstring>

#include "base/bytes.h"
#include "quant/codes.h"
#include "quant/half.h"
#include "quant/nibbles.h"

namespace ft {

namespace {

// Bit i of `bits` is the fifth bit of code i.
void add_fifth_bits(uint32_t bits, int8_t* code) {
    for (int i = 0; i < 32; i++) code[i] = static_cast<int8_t>(code[i] | (bits >> i & 1) << 4);
}

void subtract(int offset, int8_t* code) {
    for (int i = 0; i < 32; i++) code[i] = static_cast<int8_t>(code[i] - offset);
}

}  // namespace

// @0 d half, @2 qs[16]
void decode_q4_0(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    split_nibbles(block + 2, 16, out.code);
    subtract(8, out.code);
}

// @0 d half, @2 m half, @4 qs[16]
void decode_q4_1(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    out.m[0] = half_to_float(load<uint16_t>(block + 2));
    split_nibbles(block + 4, 16, out.code);
}

// @0 d half, @2 fifth bits u32, @6 qs[16]
void decode_q5_0(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    split_nibbles(block + 6, 16, out.code);
    add_fifth_bits(load<uint32_t>(block + 2), out.code);
    subtract(16, out.code);
}

// @0 d half, @2 m half, @4 fifth bits u32, @8 qs[16]
void decode_q5_1(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    out.m[0] = half_to_float(load<uint16_t>(block + 2));
    split_nibbles(block + 8, 16, out.code);
    add_fifth_bits(load<uint32_t>(block + 4), out.code);
}

// @0 d half, @2 qs[32] signed
void decode_q8_0(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    std::memcpy(out.code, block + 2, 32);
}

}  // namespace ft
