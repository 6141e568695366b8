#include "kernels/avx2/elementwise.h"

#include "kernels/avx2/row.h"
#include "kernels/math_source.h"

namespace ft::avx2 {

void rms_norm(const float* x, const float* w, int64_t n, float eps, float* out) {
    const float scale = 1.0f / __builtin_sqrtf(sum_of_squares(x, n) / static_cast<float>(n) + eps);
    const Lane8 s = Lane8::of(scale);
    if (w == nullptr) map(n, out, [s](Lane8 a) { return a * s; }, x);
    else map(n, out, [s](Lane8 a, Lane8 b) { return (a * s) * b; }, x, w);
}

void l2_norm(const float* x, int64_t n, float eps, float* out) {
    const float sum = sum_of_squares(x, n);
    const float least = eps * eps;
    const Lane8 s = Lane8::of(1.0f / __builtin_sqrtf(sum < least ? least : sum));
    map(n, out, [s](Lane8 a) { return a * s; }, x);
}

void silu(const float* x, int64_t n, float* out) {
    map(n, out, [](Lane8 a) { return silu_of(a); }, x);
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
    map(n, out, [](Lane8 g, Lane8 u) { return silu_of(g) * u; }, gate, up);
}

void sigmoid_mul(const float* gate, const float* x, int64_t n, float* out) {
    map(n, out, [](Lane8 g, Lane8 a) { return a * sigmoid_of(g); }, gate, x);
}

void softmax(const float* x, int64_t n, float* out) {
    const Lane8 m = Lane8::of(largest(x, n));
    map(n, out, [m](Lane8 a) { return exp_of(a - m); }, x);
    const Lane8 sum = Lane8::of(sum_of_values(out, n));
    map(n, out, [sum](Lane8 e) { return e / sum; }, out);
}

void add(const float* a, const float* b, int64_t n, float* out) {
    map(n, out, [](Lane8 x, Lane8 y) { return x + y; }, a, b);
}

void scale_add(const float* x, float w, int64_t n, float* y, bool first) {
    const Lane8 s = Lane8::of(w);
    if (first) map(n, y, [s](Lane8 a) { return s * a; }, x);
    else map(n, y, [s](Lane8 a, Lane8 b) { return b + (s * a); }, x, y);
}

}  // namespace ft::avx2
