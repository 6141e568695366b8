#include "kernels/avx2/table.h"

#include "kernels/avx2/attention.h"
#include "kernels/avx2/elementwise.h"
#include "kernels/avx2/matmul.h"
#include "kernels/avx2/recurrent.h"

namespace ft {
namespace {

ActKind act_kind(QuantType type) { return type_info(type).activations; }

}  // namespace

constexpr Kernels k_avx2_kernels = {
    .name = "avx2",
    .act_kind = act_kind,
    .act_bytes = act_bytes_avx2,
    .quantise = quantise_avx2,
    .matmul = matmul_avx2,
    .rms_norm = avx2::rms_norm,
    .l2_norm = avx2::l2_norm,
    .silu_mul = avx2::silu_mul,
    .sigmoid_mul = avx2::sigmoid_mul,
    .silu = avx2::silu,
    .softmax = avx2::softmax,
    .add = avx2::add,
    .scale_add = avx2::scale_add,
    .attend = avx2::attend,
    .attend_merge = avx2::attend_merge,
    .delta_step = avx2::delta_step,
    .conv_silu = avx2::conv_silu,
};

}  // namespace ft
