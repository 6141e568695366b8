// The AVX2 table's matrix products and activations. Needs AVX2, FMA, F16C and BMI2; bits as TypeInfo::dot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace ft {

size_t act_bytes_avx2(ActKind kind, int64_t n);
void quantise_avx2(ActKind kind, const float* x, int64_t n, std::byte* blob);

// Every type. Those without a kernel of their own go through the scalar dot product.
void matmul_avx2(QuantType type, const MatMul& args);

}  // namespace ft
