// The delta net's step and the short convolution in AVX2, as declared in kernels.h; bits as
// scalar/recurrent.h.
#pragma once

#include <cstdint>

namespace ft::avx2 {

void delta_step(float* state, const float* q, const float* k, const float* v, float decay, float beta,
                float q_scale, int d, float* o);
void conv_silu(const float* history, const float* x, const float* w, int taps, int64_t n_channel, float* out);

}  // namespace ft::avx2
