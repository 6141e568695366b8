// The code books of the IQ types with their entries unpacked to bytes, as the kernels look them up.
#pragma once

#include <cstdint>

namespace ft::avx2 {

// Magnitudes, value k in byte k. Made on the first call, on any thread.
const uint64_t* code_book_iq2_xxs();  // 256 entries of 8 values
const uint64_t* code_book_iq2_xs();   // 512
const uint64_t* code_book_iq2_s();    // 1024
const uint32_t* code_book_iq3_xxs();  // 256 entries of 4 values
const uint32_t* code_book_iq3_s();    // 512

// In eighths, signed: -8, 0, 8. 2048 entries of 8 values.
const uint64_t* code_book_iq1();

// Signs of 8 values from their first 7 (set is minus): an even number of them is minus. 128 entries, value
// k's sign as 1 or -1 in byte k.
const uint64_t* signs_of_7_bits();

}  // namespace ft::avx2
