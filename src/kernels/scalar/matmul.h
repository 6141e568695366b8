// Matrix times activations by the scalar truth: row by row and token by token through TypeInfo::dot.
#pragma once

#include "kernels/kernels.h"

namespace ft {

// args.acts are blobs of make_activations() for the type's own kind of activations.
void matmul_scalar(QuantType type, const MatMul& args);

}  // namespace ft
