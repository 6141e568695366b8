// The scalar table, compiled for any x86-64 and for processors with an FMA instruction. Same bits.
#pragma once

#include "kernels/kernels.h"

namespace ft {

extern const Kernels k_scalar_kernels;
extern const Kernels k_scalar_kernels_fma;  // only where the processor has FMA

}  // namespace ft
