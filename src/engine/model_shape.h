// What a plan needs to know of a model (tiers/model_shape.h), from the file's header and the model's numbers.
#pragma once

#include <cstdint>

#include "gguf/gguf.h"
#include "kv/kv_shape.h"
#include "model/model.h"
#include "tiers/model_shape.h"

namespace ft {

// `model` is bound to `file`; nothing of its data needs to be there. Mixtures stand in the order of
// Model::expert_records(), size classes are numbered in the order in which layers first show them. The
// scratch is that of Ops with `kernels` and so many threads, and the logits of a session, to the byte.
ModelShape model_shape(const Gguf& file, const Model& model, KvTypes kv_types, const Kernels& kernels,
                       int n_thread);

}  // namespace ft
