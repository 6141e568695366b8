// Choice of the kernel, and the scalar way for types without one. Compiled without AVX2.
#include "kernels/avx2/matmul.h"

#include "base/bytes.h"
#include "kernels/avx2/activations.h"
#include "kernels/avx2/matmul_types.h"

namespace ft {

namespace avx2 {

ActParts act_parts(ActKind kind, int64_t n) {
    const ActLayout layout = act_layout(kind, n);
    ActParts parts{.d = layout.d, .q = layout.q, .s16 = layout.s16, .end = layout.end};
    if (kind == ActKind::f32) return parts;
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

using Product = void (*)(const MatMul&);

Product product_of(QuantType type) {
    switch (type) {
        case QuantType::F32:
            return avx2::matmul_f32;
        case QuantType::F16:
            return avx2::matmul_f16;
        case QuantType::BF16:
            return avx2::matmul_bf16;
        case QuantType::Q8_0:
            return avx2::matmul_q8_0;
        case QuantType::Q4_K:
            return avx2::matmul_q4_k;
        case QuantType::Q5_K:
            return avx2::matmul_q5_k;
        case QuantType::Q6_K:
            return avx2::matmul_q6_k;
        default:
            return nullptr;
    }
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

bool has_matmul_avx2(QuantType type) { return product_of(type) != nullptr; }

void matmul_avx2(QuantType type, const MatMul& args) {
    if (const Product product = product_of(type)) product(args);
    else matmul_by_row(type_info(type), args);
}

}  // namespace ft
