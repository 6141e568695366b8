// The matrix products of each type that has kernels of its own. A file per family of layouts.
#pragma once

#include "kernels/kernels.h"

namespace ft::avx2 {

void matmul_f32(const MatMul& m);
void matmul_f16(const MatMul& m);
void matmul_bf16(const MatMul& m);

void matmul_q8_0(const MatMul& m);

void matmul_q4_k(const MatMul& m);
void matmul_q5_k(const MatMul& m);
void matmul_q6_k(const MatMul& m);

}  // namespace ft::avx2
