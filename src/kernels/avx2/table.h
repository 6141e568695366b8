// The AVX2 table; only for processors with AVX2, FMA, F16C and BMI2.
#pragma once

#include "kernels/kernels.h"

namespace ft {

extern const Kernels k_avx2_kernels;

}  // namespace ft
