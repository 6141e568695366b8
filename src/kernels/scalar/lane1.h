// One f32 as a pack of one lane, for math_source.h. In an unnamed namespace because the scalar code is
// compiled twice (kernels/README.md).
#pragma once

#include <bit>
#include <cstdint>

namespace ft {
namespace {

struct Lane1 {
    struct Bits {
        uint32_t b;
        static Bits of(uint32_t value) { return {value}; }
        friend Bits operator+(Bits x, Bits y) { return {x.b + y.b}; }
        friend Bits operator-(Bits x, Bits y) { return {x.b - y.b}; }
        friend Bits operator<<(Bits x, int n) { return {x.b << n}; }
        friend Bits operator>>(Bits x, int n) {
            return {static_cast<uint32_t>(static_cast<int32_t>(x.b) >> n)};
        }
    };

    float v;
    static Lane1 of(float value) { return {value}; }
    static Lane1 from_bits(Bits x) { return {std::bit_cast<float>(x.b)}; }
    static Lane1 from_int(Bits x) { return {static_cast<float>(static_cast<int32_t>(x.b))}; }
    friend Bits bits(Lane1 x) { return {std::bit_cast<uint32_t>(x.v)}; }
    friend Lane1 operator+(Lane1 x, Lane1 y) { return {x.v + y.v}; }
    friend Lane1 operator-(Lane1 x, Lane1 y) { return {x.v - y.v}; }
    friend Lane1 operator*(Lane1 x, Lane1 y) { return {x.v * y.v}; }
    friend Lane1 operator/(Lane1 x, Lane1 y) { return {x.v / y.v}; }
    friend Lane1 fma(Lane1 x, Lane1 y, Lane1 z) { return {__builtin_fmaf(x.v, y.v, z.v)}; }
    friend bool below(Lane1 x, Lane1 y) { return x.v < y.v; }
    friend bool is_nan(Lane1 x) { return x.v != x.v; }
    friend Lane1 select(bool mask, Lane1 yes, Lane1 no) { return mask ? yes : no; }
    friend Lane1 negated(Lane1 x) { return from_bits({bits(x).b ^ 0x80000000u}); }
    friend Lane1 magnitude(Lane1 x) { return from_bits({bits(x).b & 0x7fffffffu}); }
    friend Lane1 with_sign_of(Lane1 sign, Lane1 x) {
        return from_bits({(bits(sign).b & 0x80000000u) | bits(magnitude(x)).b});
    }
};

}  // namespace
}  // namespace ft
