// Rows of keys and values as Q8_0 or Q4_0 blocks of 32, made while a model runs (docs/arithmetic.md 4, stored
// types). type_info(QuantType::Q8_0) and Q4_0 read them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ft {

// x [n] f32 -> n / 32 blocks of 34 or 18 bytes; n is a multiple of 32. A block with a value that is not
// finite has d = NaN.
void store_q8_0(const float* x, int64_t n, std::byte* blocks);
void store_q4_0(const float* x, int64_t n, std::byte* blocks);

}  // namespace ft
