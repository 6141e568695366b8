// Weights as the operations see them: typed rows in memory that the model owns, and nothing copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "quant/types.h"

namespace ft {

struct TensorInfo;

// A matrix of n_row rows of n_col values: y[r] = (row r . x) * scale + bias[r].
struct Weight {
    const TypeInfo* type = nullptr;   // nullptr: the file has no such tensor
    const std::byte* data = nullptr;  // row r at data + r * row_bytes, any alignment
    size_t row_bytes = 0;
    int64_t n_col = 0, n_row = 0;
    const float* scale = nullptr;  // one value, or none: the tensor's .scale multiplies the finished dot once
    const float* bias = nullptr;   // [n_row] f32, or none; added after the scale (arithmetic.md 1.4)

    explicit operator bool() const { return type != nullptr; }
    uint64_t bytes() const { return static_cast<uint64_t>(n_row) * row_bytes; }

    // Rows [begin, begin + count) as a matrix of their own: the parts of a fused tensor.
    Weight rows(int64_t begin, int64_t count) const {
        Weight part = *this;
        part.data = data + static_cast<size_t>(begin) * row_bytes;
        part.n_row = count;
        if (bias != nullptr) part.bias = bias + begin;
        return part;
    }
};

// n_expert matrices of one shape. Expert e is one contiguous range (GGUF stacks); with a fused gate+up tensor
// a stack is the rows [row_begin, row_begin + n_row) of every expert.
struct ExpertStack {
    Weight first;                   // of expert 0
    size_t expert_bytes = 0;        // from one expert to the next
    const float* scales = nullptr;  // [n_expert] the tensor's .scale, or none
    const TensorInfo* tensor = nullptr;
    int slice = 0;           // number of this tensor among those of the layer's experts
    size_t slice_begin = 0;  // where row 0 lies in an expert's part of the tensor

    explicit operator bool() const { return static_cast<bool>(first); }
    // Where all experts are resident.
    Weight expert(int e) const { return expert_at(e, first.data + static_cast<size_t>(e) * expert_bytes); }
    // Where the expert's part of the tensor is elsewhere.
    Weight expert_in(int e, const std::byte* slice) const { return expert_at(e, slice + slice_begin); }

 private:
    Weight expert_at(int e, const std::byte* data) const {
        Weight w = first;
        w.data = data;
        if (scales != nullptr) w.scale = scales + e;
        return w;
    }
};

// f32 vectors (norm weights, biases, small per-head numbers); empty: the file has none.
using Vector = std::vector<float>;

struct AttentionWeights {
    Weight q, k, v, output;  // q may hold a gate per head (qwen35moe)
    Vector q_norm, k_norm;   // [dim_k], per head
};

struct DeltaNetWeights {
    Weight qkv, gate, alpha, beta, output;
    Vector conv;        // [channels, taps]
    Vector dt_bias, a;  // [n_head_v]
    Vector norm;        // [state]
};

struct DenseWeights {
    Weight gate, up, down;
};

struct MixtureWeights {
    int index = 0;  // among the layers with a mixture
    Weight router;  // f32, always
    ExpertStack gate, up, down;
    DenseWeights shared;  // the shared expert, where there is one
    Weight shared_gate;   // one f32 row
};

// One block. Exactly one of attention and delta_net is bound, and one of dense and mixture.
struct Layer {
    int index = 0;         // the file's blk.N
    int kv_index = -1;     // among the layers with a KV cache
    int state_index = -1;  // among the layers with recurrent state
    Vector norm1, norm2;
    AttentionWeights attention;
    DeltaNetWeights delta_net;
    DenseWeights dense;
    MixtureWeights mixture;
    const Layer* next_mixture = nullptr;  // the next block with one, if any

    bool is_mixture() const { return static_cast<bool>(mixture.router); }
};

}  // namespace ft
