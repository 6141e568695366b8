// qwen3: dense Qwen3. RMS norm per head on q and k before the rotation.
#include "model/archs.h"
#include "model/ops.h"
#include "model/tensor_binder.h"

namespace ft {

Status read_qwen3(const Gguf&, Hparams& hp) {
    if (hp.n_ff <= 0)
        return Error{Code::invalid, "qwen3.feed_forward_length is missing or 0",
                     "The file is damaged; fetch it again."};
    return {};
}

Status bind_qwen3(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    tensors.vector("attn_norm.weight", hp.n_embd, layer.norm1);
    tensors.vector("ffn_norm.weight", hp.n_embd, layer.norm2);
    bind_attention(tensors, hp, layer);
    tensors.vector("attn_q_norm.weight", hp.dim_k, layer.attention.q_norm);
    tensors.vector("attn_k_norm.weight", hp.dim_k, layer.attention.k_norm);
    bind_dense(tensors, hp, layer);
    return tensors.status();
}

void block_qwen3(Ops& ops, const Layer& layer) {
    Activity& a = ops.activity();
    ops.rms_norm(a.x, layer.norm1, a.h);
    ops.linear(a.h, {{layer.attention.q, a.q}, {layer.attention.k, a.k}, {layer.attention.v, a.v}});
    ops.head_norm(a.q, ops.hp().n_head, layer.attention.q_norm);
    ops.head_norm(a.k, ops.hp().n_head_kv, layer.attention.k_norm);
    ops.rope(a.q, ops.hp().n_head);
    ops.rope(a.k, ops.hp().n_head_kv);
    ops.attention(layer, a.q, a.k, a.v, a.o);
    ops.linear(a.o, {{layer.attention.output, a.y}});
    ops.add(a.x, a.y);
    ops.feed_forward(layer);
}

}  // namespace ft
