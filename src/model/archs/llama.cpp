// llama: dense Llama and Mistral, and the Mixtral form of mixture (docs of the architecture: Llama 2 and
// Mixtral papers).
#include "model/archs.h"
#include "model/ops.h"
#include "model/tensor_binder.h"

namespace ft {

Status read_llama(const Gguf&, Hparams& hp) {
    if (hp.n_ff <= 0)
        return Error{Code::invalid, "llama.feed_forward_length is missing or 0",
                     "The file is damaged; fetch it again."};
    hp.n_ff_expert = hp.n_ff;  // Mixtral's experts have the length that a dense model's feed-forward has
    return {};
}

Status bind_llama(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    tensors.vector("attn_norm.weight", hp.n_embd, layer.norm1);
    tensors.vector("ffn_norm.weight", hp.n_embd, layer.norm2);
    bind_attention(tensors, hp, layer);
    if (hp.n_expert > 0) bind_mixture(tensors, hp, layer);
    else bind_dense(tensors, hp, layer);
    return tensors.status();
}

void block_llama(Ops& ops, const Layer& layer) {
    Activity& a = ops.activity();
    ops.rms_norm(a.x, layer.norm1, a.h);
    ops.linear(a.h, {{layer.attention.q, a.q}, {layer.attention.k, a.k}, {layer.attention.v, a.v}});
    ops.rope(a.q, ops.hp().n_head);
    ops.rope(a.k, ops.hp().n_head_kv);
    ops.attention(layer, a.q, a.k, a.v, a.o);
    ops.linear(a.o, {{layer.attention.output, a.y}});
    ops.add(a.x, a.y);
    ops.feed_forward(layer);
}

}  // namespace ft
