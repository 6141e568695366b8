// Choice of the kernel, and the scalar way for types without one. Compiled without AVX2.
#include "kernels/avx2/matmul.h"

#include "base/bytes.h"
#include "base/check.h"
#include "kernels/avx2/activations.h"
#include "kernels/avx2/matmul_types.h"

namespace ft {

namespace avx2 {

ActParts act_parts(ActKind kind, int64_t n) {
    const ActLayout layout = act_layout(kind, n);
    ActParts parts{.d = layout.d, .q = layout.q, .s16 = layout.s16, .end = layout.end};
    if (kind == ActKind::f32) return parts;
    check(n % (kind == ActKind::q8_256 ? 256 : 32) == 0, "activations are quantised in whole blocks");
    const auto count = static_cast<size_t>(n);
    if (kind == ActKind::q8_256) {
        parts.s32 = parts.end;
        parts.end += round_up(count / 32 * sizeof(int16_t), 64);
    }
    parts.start = parts.end;
    parts.end += round_up(count / (kind == ActKind::q8_256 ? 8 : 16) * sizeof(int16_t), 64);
    return parts;
}

}  // namespace avx2

namespace {

struct Row {
    QuantType type;
    void (*product)(const MatMul&);
    int least_tokens;  // fewer go through the scalar dot product
};

constexpr Row k_products[] = {
    {QuantType::F32, avx2::matmul_f32, 1},         {QuantType::F16, avx2::matmul_f16, 1},
    {QuantType::BF16, avx2::matmul_bf16, 1},       {QuantType::Q4_0, avx2::matmul_q4_0, 1},
    {QuantType::Q4_1, avx2::matmul_q4_1, 1},       {QuantType::Q5_0, avx2::matmul_q5_0, 1},
    {QuantType::Q5_1, avx2::matmul_q5_1, 1},       {QuantType::Q8_0, avx2::matmul_q8_0, 1},
    {QuantType::Q2_K, avx2::matmul_q2_k, 1},       {QuantType::Q3_K, avx2::matmul_q3_k, 1},
    {QuantType::Q4_K, avx2::matmul_q4_k, 1},       {QuantType::Q5_K, avx2::matmul_q5_k, 1},
    {QuantType::Q6_K, avx2::matmul_q6_k, 1},       {QuantType::IQ4_NL, avx2::matmul_iq4_nl, 1},
    {QuantType::IQ4_XS, avx2::matmul_iq4_xs, 1},   {QuantType::MXFP4, avx2::matmul_mxfp4, 1},
    {QuantType::IQ2_XXS, avx2::matmul_iq2_xxs, 1}, {QuantType::IQ2_XS, avx2::matmul_iq2_xs, 1},
    {QuantType::IQ2_S, avx2::matmul_iq2_s, 1},     {QuantType::IQ3_XXS, avx2::matmul_iq3_xxs, 1},
    {QuantType::IQ3_S, avx2::matmul_iq3_s, 1},     {QuantType::IQ1_S, avx2::matmul_iq1_s, 1},
    {QuantType::IQ1_M, avx2::matmul_iq1_m, 1},     {QuantType::TQ1_0, avx2::matmul_tq1_0, 2},
    {QuantType::TQ2_0, avx2::matmul_tq2_0, 2},     {QuantType::NVFP4, avx2::matmul_nvfp4, 1},
};

const Row* row_of(QuantType type) {
    for (const Row& row : k_products)
        if (row.type == type) return &row;
    return nullptr;
}

void matmul_by_row(const TypeInfo& type, const MatMul& m) {
    for (int64_t r = 0; r < m.n_row; r++) {
        const std::byte* row = m.weights + static_cast<size_t>(r) * m.row_bytes;
        for (int t = 0; t < m.n_token; t++)
            m.out[t][r] = type.dot(row, act_row(type.activations, m.acts[t], m.n_col), m.n_col);
    }
}

}  // namespace

size_t act_bytes_avx2(ActKind kind, int64_t n) { return avx2::act_parts(kind, n).end; }

void matmul_avx2(QuantType type, const MatMul& args) {
    const Row* row = row_of(type);
    if (row != nullptr && args.n_token >= row->least_tokens) row->product(args);
    else matmul_by_row(type_info(type), args);
}

}  // namespace ft
