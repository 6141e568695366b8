// What a tensor is for, told by its name (the field's naming of GGUF tensors).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gguf/gguf.h"

namespace ft {

enum class Role {
    experts,  // the experts that a router chooses from
    shared,   // shared experts and their gate
    router,
    attention,
    delta_net,     // gated delta net layers: projections, convolution, state
    state_space,   // Mamba layers
    feed_forward,  // of dense layers
    norms,
    embedding,
    head,
    mtp,    // blocks of multi-token prediction, which do not run
    other,  // rope factors and what no rule knows
};
constexpr int k_roles = 12;
const char* role_name(Role role);

// N of a name "blk.N.REST", or -1 for a tensor that belongs to no layer.
int64_t layer_of(std::string_view tensor_name);

// Of every tensor, in order. Layers from n_layers on are MTP blocks. The kind of a layer follows from all its
// tensors: attn_qkv of a delta-net layer is part of the delta net.
std::vector<Role> roles_of(std::span<const TensorInfo> tensors, int64_t n_layers);

}  // namespace ft
