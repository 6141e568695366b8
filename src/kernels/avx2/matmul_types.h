// The matrix products of each type that has kernels of its own. A file per family of layouts.
#pragma once

#include "kernels/kernels.h"

namespace ft::avx2 {

// dot_float.cpp
void matmul_f32(const MatMul& m);
void matmul_f16(const MatMul& m);
void matmul_bf16(const MatMul& m);

// dot_q32.cpp
void matmul_q4_0(const MatMul& m);
void matmul_q4_1(const MatMul& m);
void matmul_q5_0(const MatMul& m);
void matmul_q5_1(const MatMul& m);
void matmul_q8_0(const MatMul& m);

// dot_k23.cpp, dot_k45.cpp, dot_k6.cpp
void matmul_q2_k(const MatMul& m);
void matmul_q3_k(const MatMul& m);
void matmul_q4_k(const MatMul& m);
void matmul_q5_k(const MatMul& m);
void matmul_q6_k(const MatMul& m);

// dot_table4.cpp
void matmul_iq4_nl(const MatMul& m);
void matmul_iq4_xs(const MatMul& m);
void matmul_mxfp4(const MatMul& m);

// dot_nvfp4.cpp
void matmul_nvfp4(const MatMul& m);

// dot_iq1.cpp, dot_iq23.cpp
void matmul_iq1_s(const MatMul& m);
void matmul_iq1_m(const MatMul& m);
void matmul_iq2_xxs(const MatMul& m);
void matmul_iq2_xs(const MatMul& m);
void matmul_iq2_s(const MatMul& m);
void matmul_iq3_xxs(const MatMul& m);
void matmul_iq3_s(const MatMul& m);

// dot_decoded.cpp: for several tokens
void matmul_tq1_0(const MatMul& m);
void matmul_tq2_0(const MatMul& m);

}  // namespace ft::avx2
