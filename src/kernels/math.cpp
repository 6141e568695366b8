// The scalar functions of kernels.h, for code outside the tables.
#include "kernels/kernels.h"
#include "kernels/math_source.h"
#include "kernels/scalar/lane1.h"

namespace ft {

float exp_f32(float x) { return exp_of(Lane1{x}).v; }
float log_f32(float x) { return log_of(Lane1{x}).v; }
float softplus_f32(float x) { return softplus_of(Lane1{x}).v; }
float sigmoid_f32(float x) { return sigmoid_of(Lane1{x}).v; }
float tanh_f32(float x) { return tanh_of(Lane1{x}).v; }
float gelu_f32(float x) { return gelu_of(Lane1{x}).v; }

}  // namespace ft
