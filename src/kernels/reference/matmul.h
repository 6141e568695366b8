// Matrix times activations of the reference backend: weights dequantised to f32, activations f32, rule 1.1 of
// docs/arithmetic.md whatever the type.
#pragma once

#include "kernels/kernels.h"

namespace ft {

// args.acts are blobs of make_activations(ActKind::f32, ...).
void matmul_reference(QuantType type, const MatMul& args);
// The same bits, compiled for processors with FMA.
void matmul_reference_fma(QuantType type, const MatMul& args);

}  // namespace ft
