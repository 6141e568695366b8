// Attention in AVX2, as declared in kernels.h; bits as scalar/attention.h.
#pragma once

#include "kernels/kernels.h"

namespace ft::avx2 {

void attend(const AttendChunk& chunk, int n_query, const AttendQuery* queries, float scale, float* scratch,
            float* m, float* l, float* const* o);
void attend_merge(float* m, float* l, float* o, float m2, float l2, const float* o2, int dim_v);

}  // namespace ft::avx2
