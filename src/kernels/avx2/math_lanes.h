// math_source.h over whole arrays in AVX2, for the test that compares it with the scalar functions.
#pragma once

#include <cstdint>

namespace ft::avx2 {

// out[i] = f(x[i]). Only where the processor has AVX2 and FMA.
void exp_all(const float* x, int64_t n, float* out);
void log_all(const float* x, int64_t n, float* out);
void softplus_all(const float* x, int64_t n, float* out);
void sigmoid_all(const float* x, int64_t n, float* out);
void tanh_all(const float* x, int64_t n, float* out);
void gelu_all(const float* x, int64_t n, float* out);

}  // namespace ft::avx2
