// Router: which experts a token goes to, and with what weight (docs/arithmetic.md 2).
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.h"

namespace ft {

// logits [n_expert]. ids [top_k] by falling probability, ties to the lower id; weights [top_k] = the softmax
// over all experts, divided by max(their sum, 6.1035e-5) when `renormalise`, times `scale`. probs [n_expert]
// is scratch.
void route(const Kernels& kernels, std::span<const float> logits, bool renormalise, float scale,
           std::span<float> probs, std::span<int32_t> ids, std::span<float> weights);

}  // namespace ft
