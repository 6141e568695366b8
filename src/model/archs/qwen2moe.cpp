// qwen2moe: Qwen1.5-MoE and Qwen2-57B-A14B. Biases on q, k and v; router weights as the softmax gives them; a
// shared expert with a gate of its own.
#include "model/archs.h"
#include "model/expert_keys.h"
#include "model/ops.h"
#include "model/tensor_binder.h"

namespace ft {

Status read_qwen2moe(const Gguf& file, Hparams& hp) {
    if (Status s = read_expert_length(file, hp); !s) return s;
    return read_shared_length(file, hp);
}

Status bind_qwen2moe(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    tensors.vector("attn_norm.weight", hp.n_embd, layer.norm1);
    tensors.vector("ffn_norm.weight", hp.n_embd, layer.norm2);
    bind_attention(tensors, hp, layer);
    bind_mixture(tensors, hp, layer);
    bind_shared_expert(tensors, hp, layer);
    return tensors.status();
}

// The biases are part of the weights, so the block reads as llama's.
void block_qwen2moe(Ops& ops, const Layer& layer) { block_llama(ops, layer); }

}  // namespace ft
