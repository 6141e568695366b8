// The dot product of a weight row with an activation row by its one definition (docs/arithmetic.md 1.1, 1.3,
// 1.4), and dequantisation, for everything that codes.h can describe. A row is cut into groups of 256 values,
// of which the last may be shorter. Rows have n > 0 values, a multiple of the type's block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quant/activations.h"
#include "quant/codes.h"

namespace ft {

constexpr int k_group = 256;

// ((p0 + p1) + p2) + ..., where partial(start, count) is p of the group of `count` values from `start` on.
template <class Partial>
float sum_groups(int64_t n, Partial partial) {
    float sum = partial(int64_t{0}, static_cast<int>(std::min<int64_t>(n, k_group)));
    for (int64_t start = k_group; start < n; start += k_group)
        sum = sum + partial(start, static_cast<int>(std::min<int64_t>(n - start, k_group)));
    return sum;
}

// Rule 1.1 for one group: 32 lanes of fma, lane l over the values l, l + 32, ...; lanes are added by halving.
// weight(i) is the f32 value of weight i. kernels/ compiles this with instructions of its own: no std:: here.
template <class Weight>
float dot_lanes(Weight weight, const float* x, int n) {
    float lane[32] = {};
    for (int start = 0; start < n; start += 32) {
        const int count = n - start < 32 ? n - start : 32;
        for (int l = 0; l < count; l++) lane[l] = __builtin_fmaf(weight(start + l), x[start + l], lane[l]);
    }
    for (int half = 16; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] = lane[l] + lane[l + half];
    return lane[0];
}

inline int32_t dot_codes(const int8_t* code, const int8_t* q, int n) {
    int32_t sum = 0;
    for (int i = 0; i < n; i++) sum += code[i] * q[i];
    return sum;
}

// Float weights: read(bytes) is the f32 value of one weight of k_bytes bytes.
template <auto read, int k_bytes>
struct FloatRow {
    static void dequantise(const std::byte* blocks, float* out, int64_t n) {
        for (int64_t i = 0; i < n; i++) out[i] = read(blocks + i * k_bytes);
    }
    static float dot(const std::byte* row, const ActRow& x, int64_t n) {
        return sum_groups(n, [&](int64_t start, int count) {
            return dot_lanes([&](int i) { return read(row + (start + i) * k_bytes); }, x.x + start, count);
        });
    }
};

// Types in blocks of 256, one block a group (rule 1.3).
template <void (*decode)(const uint8_t*, SuperBlock&), int k_bytes, bool k_mins>
struct SuperRow {
    static void dequantise(const std::byte* blocks, float* out, int64_t n) {
        SuperBlock b;
        for (int64_t start = 0; start < n; start += k_group) {
            decode(at(blocks, start), b);
            for (int i = 0; i < k_group; i++) {
                const float value =
                    (b.d * static_cast<float>(b.scale[i / 16])) * static_cast<float>(b.code[i]);
                if constexpr (k_mins) out[start + i] = value - b.dmin * static_cast<float>(b.min[i / 16]);
                else out[start + i] = value;
            }
        }
    }
    static float dot(const std::byte* row, const ActRow& x, int64_t n) {
        SuperBlock b;
        return sum_groups(n, [&](int64_t start, int) {
            decode(at(row, start), b);
            const float da = x.d[start / k_group];
            int32_t sum = 0;
            for (int j = 0; j < 16; j++)
                sum += b.scale[j] * dot_codes(b.code + 16 * j, x.q + start + 16 * j, 16);
            float p = (b.d * da) * static_cast<float>(sum);
            if constexpr (k_mins) {
                int32_t min_sum = 0;
                for (int j = 0; j < 16; j++) min_sum += b.min[j] * x.s16[start / 16 + j];
                p = p - (b.dmin * da) * static_cast<float>(min_sum);
            }
            return p;
        });
    }

 private:
    static const uint8_t* at(const std::byte* row, int64_t start) {
        return reinterpret_cast<const uint8_t*>(row + start / k_group * k_bytes);
    }
};

// Types in smaller blocks (rule 1.4).
template <class Block, void (*decode)(const uint8_t*, Block&), int k_bytes, bool k_offsets>
struct SmallRow {
    static void dequantise(const std::byte* blocks, float* out, int64_t n) {
        Block b;
        for (int64_t start = 0; start < n; start += Block::k_values) {
            decode(at(blocks, start), b);
            for (int i = 0; i < Block::k_values; i++) {
                const float value = b.d[i / Block::k_step] * static_cast<float>(b.code[i]);
                if constexpr (k_offsets) out[start + i] = value + b.m[i / Block::k_step];
                else out[start + i] = value;
            }
        }
    }
    static float dot(const std::byte* row, const ActRow& x, int64_t n) {
        return sum_groups(n, [&](int64_t start, int count) {
            float p = 0.0f;
            for (int i = 0; i < count; i += Block::k_values)
                p = add_block(p, at(row, start + i), x, start + i);
            return p;
        });
    }

 private:
    static float add_block(float p, const uint8_t* block, const ActRow& x, int64_t start) {
        Block b;
        decode(block, b);
        for (int i = 0; i < Block::k_values; i += Block::k_step) {
            const int64_t first = start + i;
            const float da = x.d[first / 32];
            const int32_t sum = dot_codes(b.code + i, x.q + first, Block::k_step);
            p = p + (b.d[i / Block::k_step] * da) * static_cast<float>(sum);
            if constexpr (k_offsets) {
                const int32_t q_sum = x.s16[first / 16] + x.s16[first / 16 + 1];
                p = p + (b.m[i / Block::k_step] * da) * static_cast<float>(q_sum);
            }
        }
        return p;
    }
    static const uint8_t* at(const std::byte* row, int64_t start) {
        return reinterpret_cast<const uint8_t*>(row + start / Block::k_values * k_bytes);
    }
};

}  // namespace ft
