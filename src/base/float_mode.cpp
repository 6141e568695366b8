#include "base/float_mode.h"

#include <bit>
#include <cfenv>
#include <cstdint>

#include "base/check.h"

namespace ft {

bool exact_float_mode() {
    // volatile: the compiler must not fold these in its own mode. The results are compared as bits, because a
    // comparison of floats would itself read a subnormal as zero.
    volatile float smallest_normal = 0x1p-126f, smallest = 0x1p-149f, half = 0.5f, big = 0x1p24f;
    const float subnormal_result = smallest_normal * half;
    const float subnormal_input = smallest * big;
    return std::fegetround() == FE_TONEAREST && std::bit_cast<uint32_t>(subnormal_result) == 0x00400000u &&
           std::bit_cast<uint32_t>(subnormal_input) == 0x01000000u;
}

void set_exact_float_mode() {
    std::fesetenv(FE_DFL_ENV);
    check(exact_float_mode(), "this thread's floating-point unit does not keep subnormal numbers");
}

}  // namespace ft
