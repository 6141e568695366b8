// exp and what follows from it, written once for every width. V is a pack of f32 lanes (scalar/lane1.h,
// avx2/lane8.h), so a table of any instruction set computes the same operations in the same order, and the
// bits agree for all inputs.
//
// Lanes offer: V::of(float); + - * / ; fma(a, b, c); below(a, b) -> mask; select(mask, a, b); and on the bits
// as 32-bit integers: bits(v) -> V::Bits, V::from_bits(b), V::from_int(b) (value conversion, exact here);
// Bits::of(uint32_t), + - (wrapping), <<, >> (arithmetic), & |.
//
// Coefficients: minimax fits (Remez exchange, relative error) made for this file, rounded to f32.
#pragma once

#include <cstdint>

namespace ft {

// a < b ? a : b, and b where either is NaN.
template <class V>
inline V lesser(V a, V b) {
    return select(below(a, b), a, b);
}
template <class V>
inline V greater(V a, V b) {
    return select(below(b, a), a, b);
}

constexpr float k_ln2_high = 0x1.62e4p-1f;    // 15 bits: a product with an exponent is exact
constexpr float k_ln2_low = 0x1.7f7d1cp-20f;  // ln 2 - k_ln2_high

// e^x within 0.9 ulp. x = n ln 2 + r with |r| <= ln 2 / 2;  e^x = 2^n (1 + r + r^2 q(r)).
template <class V>
inline V exp_of(V x) {
    using Bits = typename V::Bits;
    // Far enough out that the scaling below overflows or underflows by itself. NaN passes.
    x = lesser(V::of(100.0f), x);
    x = greater(V::of(-150.0f), x);
    // Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
    const V magic = V::of(0x1.8p23f);
    const V shifted = fma(x, V::of(0x1.715476p+0f), magic);
    const V n = shifted - magic;
    V r = fma(n, V::of(-k_ln2_high), x);
    r = fma(n, V::of(-k_ln2_low), r);
    V q = V::of(0x1.6ac66cp-10f);
    q = fma(q, r, V::of(0x1.123dep-7f));
    q = fma(q, r, V::of(0x1.555858p-5f));
    q = fma(q, r, V::of(0x1.55548cp-3f));
    q = fma(q, r, V::of(0x1.fffffcp-2f));
    const V p = fma(fma(q, r, V::of(1.0f)), r, V::of(1.0f));
    // 2^n in two factors: n reaches from -216 to 144. The first product is exact, so a subnormal result
    // rounds once.
    const Bits power = bits(shifted) - bits(magic);
    const Bits half = power >> 1;
    const auto two_to = [](Bits e) { return V::from_bits((e + Bits::of(127)) << 23); };
    return (p * two_to(half)) * two_to(power - half);
}

// ln x within 0.8 ulp; -inf for zeros, NaN below. x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2));
// ln(1 + f) = f - f^2 / 2 + f^3 q(f).
template <class V>
inline V log_of(V x) {
    using Bits = typename V::Bits;
    const auto subnormal = below(x, V::of(0x1p-126f));
    const Bits b = bits(select(subnormal, x * V::of(0x1p23f), x));
    const Bits e = (b - Bits::of(0x3f3504f3u)) >> 23;
    const V k = V::from_int(e) + select(subnormal, V::of(-23.0f), V::of(0.0f));
    const V f = V::from_bits(b - (e << 23)) - V::of(1.0f);
    V q = V::of(0x1.145b14p-4f);
    q = fma(q, f, V::of(-0x1.de3d4cp-4f));
    q = fma(q, f, V::of(0x1.e6ef9ap-4f));
    q = fma(q, f, V::of(-0x1.fc21cap-4f));
    q = fma(q, f, V::of(0x1.233772p-3f));
    q = fma(q, f, V::of(-0x1.555c5p-3f));
    q = fma(q, f, V::of(0x1.99a4b4p-3f));
    q = fma(q, f, V::of(-0x1.000006p-2f));
    q = fma(q, f, V::of(0x1.555548p-2f));
    const V f2 = f * f;
    V y = fma(k, V::of(k_ln2_low), f2 * (f * q));
    y = fma(f2, V::of(-0.5f), y);
    const V result = fma(k, V::of(k_ln2_high), y + f);

    const V infinity = V::of(__builtin_inff());
    const V defined =
        select(below(V::of(0.0f), x), select(below(x, infinity), result, x), V::of(__builtin_nanf("")));
    const V at_zero = select(below(x, V::of(0.0f)), defined, V::of(0.0f) - infinity);
    return select(below(V::of(0.0f), x), defined, select(is_nan(x), x, at_zero));
}

template <class V>
inline V sigmoid_of(V x) {
    return V::of(1.0f) / (V::of(1.0f) + exp_of(negated(x)));
}

template <class V>
inline V silu_of(V x) {
    return x / (V::of(1.0f) + exp_of(negated(x)));
}

template <class V>
inline V softplus_of(V x) {
    return select(below(V::of(20.0f), x), x, log_of(V::of(1.0f) + exp_of(x)));
}

// 1 - 2 / (e^2|x| + 1) loses digits near 0, where x + x^3 q(x^2) stands for it.
template <class V>
inline V tanh_of(V x) {
    const V a = magnitude(x);
    const V far = V::of(1.0f) - V::of(2.0f) / (exp_of(V::of(2.0f) * a) + V::of(1.0f));
    const V a2 = a * a;
    V q = V::of(-0x1.750cc6p-8f);
    q = fma(q, a2, V::of(0x1.51f8ccp-6f));
    q = fma(q, a2, V::of(-0x1.b835a4p-5f));
    q = fma(q, a2, V::of(0x1.1106f6p-3f));
    q = fma(q, a2, V::of(-0x1.555532p-2f));
    const V near = fma(a * a2, q, a);
    return with_sign_of(x, select(below(a, V::of(0.625f)), near, far));
}

// The tanh form: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
template <class V>
inline V gelu_of(V x) {
    const V cubic = V::of(1.0f) + V::of(0.044715f) * x * x;
    return V::of(0.5f) * x * (V::of(1.0f) + tanh_of(V::of(0.79788456f) * x * cubic));
}

}  // namespace ft
