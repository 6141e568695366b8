// The numbers of a model, read from the file's own metadata and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/gguf.h"
#include "model/rope.h"

namespace ft {

struct Arch;

struct Hparams {
    std::string arch;
    int n_layer = 0;  // blocks that run: block_count less nextn_predict_layers
    int64_t n_embd = 0;
    int64_t n_ctx_model = 0;  // context_length
    int64_t n_vocab = 0;
    int n_head = 0;
    int n_head_kv = 0;
    int64_t dim_k = 0;     // head size of queries and keys (attention.key_length)
    int64_t dim_v = 0;     // head size of values
    float eps = 0;         // of RMS norms
    float attn_scale = 0;  // f32(1 / sqrt(dim_k)) unless the file says otherwise
    RopeParams rope;

    int64_t n_ff = 0;  // dense feed-forward
    int n_expert = 0;  // 0: dense
    int top_k = 0;
    int64_t n_ff_expert = 0;
    int64_t n_ff_shared = 0;
    float expert_weights_scale = 1.0f;

    // gated delta net
    int ssm_conv_taps = 0;
    int64_t ssm_state = 0;  // d: key head size = value head size
    int ssm_n_head_k = 0;
    int ssm_n_head_v = 0;
    std::vector<bool> recurrent;  // per layer: delta net instead of attention; empty: none

    bool is_recurrent(int layer) const { return !recurrent.empty() && recurrent[layer]; }
    bool has_recurrent() const;
    int64_t ssm_channels() const { return (2 * ssm_n_head_k + ssm_n_head_v) * ssm_state; }
};

// Errors name the key: missing, of another type, or a value that no model of this architecture has.
Expected<Hparams> read_hparams(const Gguf& file, const Arch& arch);

}  // namespace ft
