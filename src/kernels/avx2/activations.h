// What the AVX2 kernels find in an activation blob: the parts of quant/activations.h and their own behind
// them.
//
//   q8_256:  s32    n / 32 i16     sums of 32 codes
//            start  n / 8 i16      per 16 codes: -32 * (sum of codes 0, 1 mod 4), -32 * (sum of codes 2, 3
//            mod 4)
//   q8_32:   start  n / 16 i16     per 32 codes: the same two sums times -16
//
// start is what a 16-bit sum of (unsigned code) x activation starts at, so that it ends as the sum of
// (code - 32) x activation (or - 16) split over the two 16-bit items of a 32-bit lane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/activations.h"

namespace ft::avx2 {

struct ActParts {
    size_t d = 0, q = 0, s16 = 0, s32 = 0, start = 0;  // byte offsets; a part that the kind lacks is 0
    size_t end = 0;
};

ActParts act_parts(ActKind kind, int64_t n);

// One activation row, seen by a kernel.
struct Token {
    const std::byte* x;  // the blob itself: f32 values where the kind is f32
    const float* d;
    const int8_t* q;
    const int16_t* s16;
    const int16_t* s32;
    const int16_t* start;
};

[[gnu::always_inline]] inline Token token_at(const std::byte* blob, const ActParts& parts) {
    return {blob,
            reinterpret_cast<const float*>(blob + parts.d),
            reinterpret_cast<const int8_t*>(blob + parts.q),
            reinterpret_cast<const int16_t*>(blob + parts.s16),
            reinterpret_cast<const int16_t*>(blob + parts.s32),
            reinterpret_cast<const int16_t*>(blob + parts.start)};
}

}  // namespace ft::avx2
