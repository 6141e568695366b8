// Signs of the IQ2 and IQ3 types: a byte per 8 values, a set bit meaning minus.
#pragma once

#include <bit>
#include <cstdint>

namespace ft {

// The types that store seven signs: the eighth makes the number of minuses even.
inline uint32_t signs_of_7(uint32_t seven) { return seven | (std::popcount(seven) & 1u) << 7; }

inline int8_t with_sign(int value, uint32_t signs, int k) {
    return static_cast<int8_t>(signs >> k & 1 ? -value : value);
}

}  // namespace ft
