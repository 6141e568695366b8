// The reference matmul, for the two files that compile it (kernels/README.md).
#pragma once

#include "kernels/kernels.h"
#include "quant/exact.h"

namespace ft {
namespace {

// A group of 256 weights is dequantised once and serves all tokens.
void matmul_rows(QuantType type, const MatMul& args) {
    const TypeInfo& info = type_info(type);
    float weights[k_group];
    for (int64_t r = 0; r < args.n_row; r++) {
        const std::byte* row = args.weights + static_cast<size_t>(r) * args.row_bytes;
        for (int64_t start = 0; start < args.n_col; start += k_group) {
            const int64_t left = args.n_col - start;
            const int count = left < k_group ? static_cast<int>(left) : k_group;
            info.dequantise(row, weights, count);
            row += count / info.block_values * info.block_bytes;
            for (int t = 0; t < args.n_token; t++) {
                const auto* x = reinterpret_cast<const float*>(args.acts[t]) + start;
                const float p = dot_lanes([&](int i) { return weights[i]; }, x, count);
                args.out[t][r] = start == 0 ? p : args.out[t][r] + p;
            }
        }
    }
}

}  // namespace
}  // namespace ft
