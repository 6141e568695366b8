// The tensors that several architectures share.
#include "model/tensor_binder.h"

namespace ft {

void bind_attention(TensorBinder& tensors, const Hparams& hp, Layer& layer, int q_parts) {
    AttentionWeights& a = layer.attention;
    const int64_t n_q = q_parts * hp.n_head * hp.dim_k, n_k = hp.n_head_kv * hp.dim_k,
                  n_v = hp.n_head_kv * hp.dim_v;
    if (tensors.has("attn_qkv")) {
        const Weight qkv = tensors.weight("attn_qkv", hp.n_embd, n_q + n_k + n_v);
        if (qkv) {
            a.q = qkv.rows(0, n_q);
            a.k = qkv.rows(n_q, n_k);
            a.v = qkv.rows(n_q + n_k, n_v);
        }
    } else {
        a.q = tensors.weight("attn_q", hp.n_embd, n_q);
        a.k = tensors.weight("attn_k", hp.n_embd, n_k);
        a.v = tensors.weight("attn_v", hp.n_embd, n_v);
    }
    a.output = tensors.weight("attn_output", hp.n_head * hp.dim_v, hp.n_embd);
}

void bind_dense(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    layer.dense.gate = tensors.weight("ffn_gate", hp.n_embd, hp.n_ff);
    layer.dense.up = tensors.weight("ffn_up", hp.n_embd, hp.n_ff);
    layer.dense.down = tensors.weight("ffn_down", hp.n_ff, hp.n_embd);
}

void bind_mixture(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    MixtureWeights& m = layer.mixture;
    m.router = tensors.weight_as_f32("ffn_gate_inp", hp.n_embd, hp.n_expert);
    if (tensors.has("ffn_gate_up_exps")) {
        // the first n_ff_expert rows of an expert are its gate, the rest its up
        const ExpertStack both =
            tensors.experts("ffn_gate_up_exps", hp.n_embd, 2 * hp.n_ff_expert, hp.n_expert);
        if (both) {
            m.gate = m.up = both;
            m.gate.first = both.first.rows(0, hp.n_ff_expert);
            m.up.first = both.first.rows(hp.n_ff_expert, hp.n_ff_expert);
            m.up.slice_begin = static_cast<size_t>(hp.n_ff_expert) * both.first.row_bytes;
        }
    } else {
        m.gate = tensors.experts("ffn_gate_exps", hp.n_embd, hp.n_ff_expert, hp.n_expert);
        m.up = tensors.experts("ffn_up_exps", hp.n_embd, hp.n_ff_expert, hp.n_expert);
        m.up.slice = 1;
    }
    m.down = tensors.experts("ffn_down_exps", hp.n_ff_expert, hp.n_embd, hp.n_expert);
    m.down.slice = m.up.slice + 1;
}

void bind_shared_expert(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    DenseWeights& s = layer.mixture.shared;
    layer.mixture.shared_gate = tensors.weight_as_f32("ffn_gate_inp_shexp", hp.n_embd, 1);
    s.gate = tensors.weight("ffn_gate_shexp", hp.n_embd, hp.n_ff_shared);
    s.up = tensors.weight("ffn_up_shexp", hp.n_embd, hp.n_ff_shared);
    s.down = tensors.weight("ffn_down_shexp", hp.n_ff_shared, hp.n_embd);
}

}  // namespace ft
