#include "kernels/reference/matmul.h"

#include "kernels/reference/rows.h"

namespace ft {

void matmul_reference(QuantType type, const MatMul& args) { matmul_rows(type, args); }

}  // namespace ft
