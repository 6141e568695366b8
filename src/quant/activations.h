// Activations in the form a weight's type asks for: f32 as they are, or int8 codes with one scale per block
// of 256 or 32 values (docs/arithmetic.md 1.2), and the integer sums that kernels want beside the codes.
//
// One row is one contiguous blob, so that a kernel can be given any list of tokens as a list of blobs:
//   f32:     x    n f32
//   q8_*:    d    n / block f32   scales, block being 256 or 32 values
//            q    n i8            codes, -127..127
//            s16  n / 16 i16      sums of 16 neighbouring codes; their number rounded up to 16, the rest
//            zeros
// Every part starts at a multiple of 64 bytes from the blob's start; blobs are 64-byte aligned.
// Kernels may append parts of their own behind s16 (see kernels/), never move these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ft {

enum class ActKind : uint8_t { f32, q8_256, q8_32 };

// One activation row, seen by scalar code.
struct ActRow {
    const float* x = nullptr;      // kind f32
    const float* d = nullptr;      // q8: scale of each block
    const int8_t* q = nullptr;     // q8: codes
    const int16_t* s16 = nullptr;  // q8: sums of 16 codes
};

struct ActLayout {
    size_t d = 0, q = 0, s16 = 0;  // byte offsets in the blob
    size_t end = 0;                // bytes of the parts above, a multiple of 64
};

ActLayout act_layout(ActKind kind, int64_t n);
ActRow act_row(ActKind kind, const std::byte* blob, int64_t n);

// x [n] f32 -> blob. Scalar truth of rule 1.2, per block:
//   d = amax / 127, q = round-half-even(x * (127 / amax)), amax the integer maximum of the bits without sign;
//   d = NaN and q = 0 where an x is not finite;
//   d = 0 and q = 0 where amax is 0 or 127 / amax is not finite.
// n is a multiple of 256 for q8_256, of 32 for q8_32.
void make_activations(ActKind kind, const float* x, int64_t n, std::byte* blob);

}  // namespace ft
