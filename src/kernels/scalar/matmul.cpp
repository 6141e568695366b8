#include "kernels/scalar/matmul.h"

namespace ft {

void matmul_scalar(QuantType type, const MatMul& args) {
    const TypeInfo& info = type_info(type);
    for (int t = 0; t < args.n_token; t++) {
        const ActRow x = act_row(info.activations, args.acts[t], args.n_col);
        for (int64_t r = 0; r < args.n_row; r++)
            args.out[t][r] = info.dot(args.weights + static_cast<size_t>(r) * args.row_bytes, x, args.n_col);
    }
}

}  // namespace ft
