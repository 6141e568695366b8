#include "kernels/avx2/math_lanes.h"

#include "kernels/avx2/row.h"
#include "kernels/math_source.h"

namespace ft::avx2 {

void exp_all(const float* x, int64_t n, float* out) {
    map(n, out, [](Lane8 a) { return exp_of(a); }, x);
}
void log_all(const float* x, int64_t n, float* out) {
    map(n, out, [](Lane8 a) { return log_of(a); }, x);
}
void softplus_all(const float* x, int64_t n, float* out) {
    map(n, out, [](Lane8 a) { return softplus_of(a); }, x);
}
void sigmoid_all(const float* x, int64_t n, float* out) {
    map(n, out, [](Lane8 a) { return sigmoid_of(a); }, x);
}
void tanh_all(const float* x, int64_t n, float* out) {
    map(n, out, [](Lane8 a) { return tanh_of(a); }, x);
}
void gelu_all(const float* x, int64_t n, float* out) {
    map(n, out, [](Lane8 a) { return gelu_of(a); }, x);
}

}  // namespace ft::avx2
