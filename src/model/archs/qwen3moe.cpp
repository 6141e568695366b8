// qwen3moe: Qwen3-30B-A3B, 235B-A22B, Qwen3-Coder-30B. Attention as qwen3, every layer a mixture.
#include "model/archs.h"
#include "model/expert_keys.h"
#include "model/ops.h"
#include "model/tensor_binder.h"

namespace ft {

Status read_qwen3moe(const Gguf& file, Hparams& hp) { return read_expert_length(file, hp); }

Status bind_qwen3moe(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    tensors.vector("attn_norm.weight", hp.n_embd, layer.norm1);
    tensors.vector("ffn_norm.weight", hp.n_embd, layer.norm2);
    bind_attention(tensors, hp, layer);
    tensors.vector("attn_q_norm.weight", hp.dim_k, layer.attention.q_norm);
    tensors.vector("attn_k_norm.weight", hp.dim_k, layer.attention.k_norm);
    bind_mixture(tensors, hp, layer);
    return tensors.status();
}

void block_qwen3moe(Ops& ops, const Layer& layer) { block_qwen3(ops, layer); }

}  // namespace ft
