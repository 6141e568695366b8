// exp, ln, pow, sine and cosine in double, from one source of our own: what decides a bit of a model's output
// must not depend on the machine's libm (docs/arithmetic.md). Relative errors stay under 1e-14 for the ranges
// named.
#pragma once

namespace ft {

double exp_f64(double x);               // any x; 0 below -708, infinite above 709.4
double log_f64(double x);               // normal x > 0
double pow_f64(double base, double y);  // base > 0
// x up to 1e9 radians; the absolute error grows by 1e-16 per unit above 1e6.
double sin_f64(double x);
double cos_f64(double x);

}  // namespace ft
