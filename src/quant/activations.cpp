#include "quant/activations.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"

namespace ft {

namespace {

int block_size(ActKind kind) { return kind == ActKind::q8_256 ? 256 : 32; }

// To the nearest integer, ties to even, for |value| < 2^22: 1.5 * 2^23 + value has no room for a fraction.
float round_half_even(float value) { return (value + 12582912.0f) - 12582912.0f; }

// Rule 1.2 for one block of n values; returns d.
float quantise_block(const float* x, int n, int8_t* q) {
    uint32_t max_bits =
        0;  // magnitudes as integers rise with the value, and those that are not finite come last
    for (int i = 0; i < n; i++) {
        const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu;
        max_bits = bits > max_bits ? bits : max_bits;
    }
    const float amax = std::bit_cast<float>(max_bits);
    const float inverse = 127.0f / amax;
    if (!std::isfinite(amax) || !std::isfinite(inverse)) {  // the latter: zeros, or too small for a scale
        std::memset(q, 0, static_cast<size_t>(n));
        return std::isfinite(amax) ? 0.0f : std::bit_cast<float>(0x7fc00000u);
    }
    for (int i = 0; i < n; i++) q[i] = static_cast<int8_t>(round_half_even(x[i] * inverse));
    return amax / 127.0f;
}

}  // namespace

ActLayout act_layout(ActKind kind, int64_t n) {
    const auto count = static_cast<size_t>(n);
    ActLayout layout;
    if (kind == ActKind::f32) {
        layout.end = round_up(count * sizeof(float), 64);
        return layout;
    }
    layout.q = round_up(count / block_size(kind) * sizeof(float), 64);
    layout.s16 = layout.q + round_up(count, 64);
    layout.end = layout.s16 + round_up(round_up(count / 16, 16) * sizeof(int16_t), 64);
    return layout;
}

ActRow act_row(ActKind kind, const std::byte* blob, int64_t n) {
    ActRow row;
    if (kind == ActKind::f32) {
        row.x = reinterpret_cast<const float*>(blob);
        return row;
    }
    const ActLayout layout = act_layout(kind, n);
    row.d = reinterpret_cast<const float*>(blob + layout.d);
    row.q = reinterpret_cast<const int8_t*>(blob + layout.q);
    row.s16 = reinterpret_cast<const int16_t*>(blob + layout.s16);
    return row;
}

void make_activations(ActKind kind, const float* x, int64_t n, std::byte* blob) {
    if (kind == ActKind::f32) {
        std::memcpy(blob, x, static_cast<size_t>(n) * sizeof(float));
        return;
    }
    const int block = block_size(kind);
    check(n % block == 0, "activations are quantised in whole blocks");
    const ActLayout layout = act_layout(kind, n);
    auto* d = reinterpret_cast<float*>(blob + layout.d);
    auto* q = reinterpret_cast<int8_t*>(blob + layout.q);
    auto* s16 = reinterpret_cast<int16_t*>(blob + layout.s16);
    for (int64_t i = 0; i < n; i += block) d[i / block] = quantise_block(x + i, block, q + i);
    std::memset(s16, 0, layout.end - layout.s16);
    for (int64_t i = 0; i < n; i++) s16[i / 16] = static_cast<int16_t>(s16[i / 16] + q[i]);
}

}  // namespace ft
