#include "gguf/roles.h"

#include <charconv>
#include <unordered_map>

namespace ft {

namespace {

struct NameRule {
    std::string_view part;  // what the name holds
    Role role;
};

// The first that fits decides.
constexpr NameRule k_rules[] = {
    {"_exps.", Role::experts},          {"_shexp", Role::shared},           {"ffn_gate_inp", Role::router},
    {"exp_probs_b", Role::router},      {"ffn_gate_tid2eid", Role::router}, {"_norm", Role::norms},
    {"attn_", Role::attention},         {"ffn_", Role::feed_forward},       {"token_embd", Role::embedding},
    {"position_embd", Role::embedding}, {"token_types", Role::embedding},
};

enum class Mixer { attention, delta_net, state_space };

// The delta net reads decay and step from ssm_alpha and ssm_beta (or both from ssm_ba); Mamba has neither.
Mixer mixer_told_by(std::string_view name, Mixer before) {
    if (name.find(".ssm_") == std::string_view::npos) return before;
    for (const std::string_view sign : {".ssm_alpha", ".ssm_beta", ".ssm_ba"})
        if (name.find(sign) != std::string_view::npos) return Mixer::delta_net;
    return before == Mixer::attention ? Mixer::state_space : before;
}

Role role_by_name(std::string_view name, Mixer mixer) {
    if (mixer != Mixer::attention) {
        const bool own = name.find(".ssm_") != std::string_view::npos ||
                         name.find(".attn_qkv") != std::string_view::npos ||
                         name.find(".attn_gate") != std::string_view::npos;
        if (own) return mixer == Mixer::delta_net ? Role::delta_net : Role::state_space;
    }
    if (name == "output.weight" || name == "output.bias") return Role::head;
    for (const NameRule& rule : k_rules)
        if (name.find(rule.part) != std::string_view::npos) return rule.role;
    return Role::other;
}

}  // namespace

const char* role_name(Role role) {
    constexpr const char* names[k_roles] = {"experts",   "shared",      "router",       "attention",
                                            "delta_net", "state_space", "feed_forward", "norms",
                                            "embedding", "head",        "mtp",          "other"};
    return names[static_cast<int>(role)];
}

int64_t layer_of(std::string_view tensor_name) {
    if (!tensor_name.starts_with("blk.")) return -1;
    const std::string_view rest = tensor_name.substr(4);
    int64_t layer = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
    const bool whole = error == std::errc() && end != rest.data() + rest.size() && *end == '.';
    return whole && layer >= 0 ? layer : -1;
}

std::vector<Role> roles_of(std::span<const TensorInfo> tensors, int64_t n_layers) {
    std::unordered_map<int64_t, Mixer> mixers;
    for (const TensorInfo& tensor : tensors) {
        const int64_t layer = layer_of(tensor.name);
        if (layer < 0) continue;
        Mixer& mixer = mixers.try_emplace(layer, Mixer::attention).first->second;
        mixer = mixer_told_by(tensor.name, mixer);
    }
    std::vector<Role> roles;
    roles.reserve(tensors.size());
    for (const TensorInfo& tensor : tensors) {
        const int64_t layer = layer_of(tensor.name);
        const Mixer mixer = layer < 0 ? Mixer::attention : mixers[layer];
        roles.push_back(layer >= n_layers ? Role::mtp : role_by_name(tensor.name, mixer));
    }
    return roles;
}

}  // namespace ft
