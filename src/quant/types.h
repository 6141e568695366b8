// The quantised types: one row each, with the size of its blocks, the scalar dequantisation and the scalar
// dot product. The scalar code is the truth (docs/arithmetic.md), which faster kernels must match to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/activations.h"

namespace ft {

// The file's own numbers (GGUF tensor types).
enum class QuantType : uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
    Q1_0 = 41,
    Q2_0 = 42,
};

struct TypeInfo {
    QuantType type;
    const char* name;     // as users write it: "Q4_K"
    int block_values;     // values per block; rows are whole blocks
    int block_bytes;      // bytes per block; nothing about alignment follows from it
    ActKind activations;  // the form in which its dot product takes the activations (arithmetic.md 1.1, 1.2)

    // out[i] = value i of the n values that start at `blocks`; n is a multiple of block_values.
    // The formulas of GGUF left to right, every operation rounded, no fma.
    void (*dequantise)(const std::byte* blocks, float* out, int64_t n);

    // Dot product of one row of n > 0 values with one activation row that make_activations(activations, ...)
    // made for n. Sections 1.1, 1.3, 1.4 of docs/arithmetic.md; the result is defined to the bit.
    float (*dot)(const std::byte* row, const ActRow& x, int64_t n);

    size_t row_bytes(int64_t n) const { return static_cast<size_t>(n / block_values) * block_bytes; }
};

std::span<const TypeInfo> all_types();            // rising type number
const TypeInfo* find_type(uint32_t type_number);  // nullptr: not a type this program computes with
const TypeInfo& type_info(QuantType type);

}  // namespace ft
