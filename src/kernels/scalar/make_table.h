// The scalar table, for the two files that compile it (kernels/README.md).
#pragma once

#include "base/bytes.h"
#include "kernels/kernels.h"
#include "kernels/scalar/attention.h"
#include "kernels/scalar/elementwise.h"
#include "kernels/scalar/matmul.h"
#include "kernels/scalar/recurrent.h"

namespace ft {
namespace {

ActKind act_kind(QuantType type) { return type_info(type).activations; }

size_t act_bytes(ActKind kind, int64_t n) { return act_layout(kind, n).end; }

constexpr Kernels k_table = {
    .name = "scalar",
    .act_kind = act_kind,
    .act_bytes = act_bytes,
    .quantise = make_activations,
    .matmul = matmul_scalar,
    .rms_norm = rms_norm,
    .l2_norm = l2_norm,
    .silu_mul = silu_mul,
    .sigmoid_mul = sigmoid_mul,
    .silu = silu,
    .softmax = softmax,
    .add = add,
    .scale_add = scale_add,
    .attend = attend,
    .attend_merge = attend_merge,
    .delta_step = delta_step,
    .conv_silu = conv_silu,
};

}  // namespace
}  // namespace ft
