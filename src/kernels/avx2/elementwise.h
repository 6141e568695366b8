// The operations of the table kernels.h in AVX2, as declared there; bits as scalar/.
#pragma once

#include <cstdint>

namespace ft::avx2 {

void rms_norm(const float* x, const float* w, int64_t n, float eps, float* out);
void l2_norm(const float* x, int64_t n, float eps, float* out);
void silu_mul(const float* gate, const float* up, int64_t n, float* out);
void sigmoid_mul(const float* gate, const float* x, int64_t n, float* out);
void silu(const float* x, int64_t n, float* out);
void softmax(const float* x, int64_t n, float* out);
void add(const float* a, const float* b, int64_t n, float* out);
void scale_add(const float* x, float w, int64_t n, float* y, bool first);

}  // namespace ft::avx2
