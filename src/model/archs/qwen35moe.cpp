// qwen35moe: Qwen3.5 and Qwen3.6 35B-A3B, 122B-A10B, 397B-A17B. Three of four layers are gated delta nets,
// the others attention with an output gate and partial rotation; every layer is a mixture with a shared
// expert.
#include "model/archs.h"
#include "model/expert_keys.h"
#include "model/ops.h"
#include "model/tensor_binder.h"

namespace ft {

namespace {

Status read_recurrent_layers(const Gguf& file, Hparams& hp) {
    const std::string list_key = hp.arch + ".attention.recurrent_layers",
                      interval_key = hp.arch + ".full_attention_interval";
    hp.recurrent.assign(hp.n_layer, false);
    if (file.has(list_key)) {
        auto list = file.get_ints(list_key);
        if (!list) return list.error();
        if (static_cast<int>(list->size()) < hp.n_layer)
            return Error{Code::invalid,
                         fmt::format("{} has {} entries for {} layers", list_key, list->size(), hp.n_layer),
                         "The file is damaged."};
        for (int i = 0; i < hp.n_layer; i++) hp.recurrent[i] = (*list)[i] != 0;
        return {};
    }
    auto interval = file.get_int(interval_key, 4);
    if (!interval) return interval.error();
    if (*interval < 1)
        return Error{Code::invalid, fmt::format("{} is {}, but must be at least 1", interval_key, *interval),
                     "The file is damaged."};
    for (int i = 0; i < hp.n_layer; i++) hp.recurrent[i] = (i + 1) % *interval != 0;
    return {};
}

Status read_delta_net(const Gguf& file, Hparams& hp) {
    struct Key {
        const char* name;
        int64_t most;
        int64_t value;
    };
    Key keys[] = {{".ssm.conv_kernel", 64, 0},
                  {".ssm.state_size", 1024, 0},
                  {".ssm.group_count", 4096, 0},
                  {".ssm.time_step_rank", 4096, 0},
                  {".ssm.inner_size", 1 << 22, 0}};
    for (Key& key : keys) {
        auto value = file.get_int(hp.arch + key.name);
        if (!value) return value.error();
        if (*value < 1 || *value > key.most)
            return Error{
                Code::invalid,
                fmt::format("{}{} is {}, but must lie between 1 and {}", hp.arch, key.name, *value, key.most),
                "The file is damaged."};
        key.value = *value;
    }
    hp.ssm_conv_taps = static_cast<int>(keys[0].value);
    hp.ssm_state = keys[1].value;
    hp.ssm_n_head_k = static_cast<int>(keys[2].value);
    hp.ssm_n_head_v = static_cast<int>(keys[3].value);
    if (keys[4].value != hp.ssm_n_head_v * hp.ssm_state || hp.ssm_n_head_v % hp.ssm_n_head_k != 0)
        return Error{
            Code::invalid,
            fmt::format(
                "{0}.ssm.inner_size {1} is not time_step_rank {2} x state_size {3}, or {2} is no multiple of "
                "group_count {4}",
                hp.arch, keys[4].value, hp.ssm_n_head_v, hp.ssm_state, hp.ssm_n_head_k),
            "The file is damaged."};
    return {};
}

void bind_delta_net(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    DeltaNetWeights& d = layer.delta_net;
    const int64_t inner = hp.ssm_n_head_v * hp.ssm_state;
    d.qkv = tensors.weight("attn_qkv", hp.n_embd, hp.ssm_channels());
    d.gate = tensors.weight("attn_gate", hp.n_embd, inner);
    d.alpha = tensors.weight("ssm_alpha", hp.n_embd, hp.ssm_n_head_v);
    d.beta = tensors.weight("ssm_beta", hp.n_embd, hp.ssm_n_head_v);
    d.output = tensors.weight("ssm_out", inner, hp.n_embd);
    tensors.vector("ssm_conv1d.weight", hp.ssm_conv_taps * hp.ssm_channels(), d.conv);
    tensors.vector("ssm_dt.bias", hp.ssm_n_head_v, d.dt_bias);
    tensors.vector("ssm_a", hp.ssm_n_head_v, d.a);
    tensors.vector("ssm_norm.weight", hp.ssm_state, d.norm);
}

void bind_gated_attention(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    bind_attention(tensors, hp, layer, 2);  // per head: query, then gate
    tensors.vector("attn_q_norm.weight", hp.dim_k, layer.attention.q_norm);
    tensors.vector("attn_k_norm.weight", hp.dim_k, layer.attention.k_norm);
}

void gated_attention(Ops& ops, const Layer& layer) {
    Activity& a = ops.activity();
    ops.linear(a.h, {{layer.attention.q, a.q_gate}, {layer.attention.k, a.k}, {layer.attention.v, a.v}});
    ops.split_gate(a.q_gate, a.q, a.gate);
    ops.head_norm(a.q, ops.hp().n_head, layer.attention.q_norm);
    ops.head_norm(a.k, ops.hp().n_head_kv, layer.attention.k_norm);
    ops.rope(a.q, ops.hp().n_head);
    ops.rope(a.k, ops.hp().n_head_kv);
    ops.attention(layer, a.q, a.k, a.v, a.o);
    ops.sigmoid_gate(a.gate, a.o);
    ops.linear(a.o, {{layer.attention.output, a.y}});
}

}  // namespace

Status read_qwen35moe(const Gguf& file, Hparams& hp) {
    if (hp.dim_k != hp.dim_v)
        return Error{Code::unsupported,
                     fmt::format("{}.attention.key_length and value_length differ", hp.arch),
                     "The gate of this architecture needs them equal."};
    for (auto read : {&read_expert_length, &read_shared_length, &read_delta_net, &read_recurrent_layers})
        if (Status s = read(file, hp); !s) return s;
    return {};
}

Status bind_qwen35moe(TensorBinder& tensors, const Hparams& hp, Layer& layer) {
    tensors.vector("attn_norm.weight", hp.n_embd, layer.norm1);
    tensors.vector("post_attention_norm.weight", hp.n_embd, layer.norm2);
    if (hp.is_recurrent(layer.index)) bind_delta_net(tensors, hp, layer);
    else bind_gated_attention(tensors, hp, layer);
    bind_mixture(tensors, hp, layer);
    bind_shared_expert(tensors, hp, layer);
    return tensors.status();
}

void block_qwen35moe(Ops& ops, const Layer& layer) {
    Activity& a = ops.activity();
    ops.rms_norm(a.x, layer.norm1, a.h);
    if (layer.delta_net.qkv) ops.delta_net(layer, a.h, a.y);
    else gated_attention(ops, layer);
    ops.add(a.x, a.y);
    ops.feed_forward(layer);
}

}  // namespace ft
