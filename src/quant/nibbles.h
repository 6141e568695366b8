// 4-bit codes as most types keep them: of 2n values, the first n are the low nibbles of n bytes, the others
// the high ones.
#pragma once

#include <cstdint>

namespace ft {

inline void split_nibbles(const uint8_t* bytes, int n, int8_t* code) {
    for (int i = 0; i < n; i++) {
        code[i] = static_cast<int8_t>(bytes[i] & 15);
        code[n + i] = static_cast<int8_t>(bytes[i] >> 4);
    }
}

// The same for types whose codes are numbers of 16 values.
inline void split_nibbles(const uint8_t* bytes, int n, const int8_t (&values)[16], int8_t* code) {
    for (int i = 0; i < n; i++) {
        code[i] = values[bytes[i] & 15];
        code[n + i] = values[bytes[i] >> 4];
    }
}

}  // namespace ft
