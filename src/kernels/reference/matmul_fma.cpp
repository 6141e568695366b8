// Compiled with -mfma: see kernels/README.md.
#include "kernels/reference/matmul.h"
#include "kernels/reference/rows.h"

namespace ft {

void matmul_reference_fma(QuantType type, const MatMul& args) { matmul_rows(type, args); }

}  // namespace ft
