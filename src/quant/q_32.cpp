// The types of 32 values with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
#include <cstring>

#include "base/bytes.h"
#include "quant/codes.h"
#include "quant/half.h"

namespace ft {

namespace {

// Nibble i of a block: the low nibbles of the 16 bytes are values 0..15, the high ones 16..31.
int nibble(const uint8_t* qs, int i) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; }

}  // namespace

// @0 d half, @2 qs[16]
void decode_q4_0(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    for (int i = 0; i < 32; i++) out.code[i] = static_cast<int8_t>(nibble(block + 2, i) - 8);
}

// @0 d half, @2 m half, @4 qs[16]
void decode_q4_1(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    out.m[0] = half_to_float(load<uint16_t>(block + 2));
    for (int i = 0; i < 32; i++) out.code[i] = static_cast<int8_t>(nibble(block + 4, i));
}

// @0 d half, @2 fifth bits u32, @6 qs[16]
void decode_q5_0(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    const uint32_t high = load<uint32_t>(block + 2);
    for (int i = 0; i < 32; i++) {
        const int fifth = static_cast<int>(high >> i & 1);
        out.code[i] = static_cast<int8_t>((nibble(block + 6, i) | fifth << 4) - 16);
    }
}

// @0 d half, @2 m half, @4 fifth bits u32, @8 qs[16]
void decode_q5_1(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    out.m[0] = half_to_float(load<uint16_t>(block + 2));
    const uint32_t high = load<uint32_t>(block + 4);
    for (int i = 0; i < 32; i++) {
        const int fifth = static_cast<int>(high >> i & 1);
        out.code[i] = static_cast<int8_t>(nibble(block + 8, i) | fifth << 4);
    }
}

// @0 d half, @2 qs[32] signed
void decode_q8_0(const uint8_t* block, Block32& out) {
    out.d[0] = half_to_float(load<uint16_t>(block));
    std::memcpy(out.code, block + 2, 32);
}

}  // namespace ft
