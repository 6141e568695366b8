// Attention in AVX2, as declared in kernels.h; bits as scalar/attention.h.
#pragma once

#include "kernels/kernels.h"

namespace ft::avx2 {

void attend_chunk(const AttendChunk& chunk, const float* q, float scale, float* scratch, float* m, float* l,
                  float* o);
void attend_queries(const AttendChunk& chunk, int n_query, const float* const* q, const int* n_pos,
                    float scale, float* scratch, float* m, float* l, float* const* o);
void attend_merge(float* m, float* l, float* o, float m2, float l2, const float* o2, int dim_v);

}  // namespace ft::avx2
