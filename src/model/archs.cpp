#include "model/archs.h"

namespace ft {

namespace {

constexpr Arch k_archs[] = {
    // name        rotary          renormalise  keys             tensors          block
    {"llama", RopeKind::norm, true, &read_llama, &bind_llama, &block_llama},
    {"qwen2moe", RopeKind::neox, false, &read_qwen2moe, &bind_qwen2moe, &block_qwen2moe},
    {"qwen3", RopeKind::neox, true, &read_qwen3, &bind_qwen3, &block_qwen3},
    {"qwen3moe", RopeKind::neox, true, &read_qwen3moe, &bind_qwen3moe, &block_qwen3moe},
    {"qwen35moe", RopeKind::neox, true, &read_qwen35moe, &bind_qwen35moe, &block_qwen35moe},
};

}  // namespace

std::span<const Arch> archs() { return k_archs; }

Expected<const Arch*> find_arch(std::string_view name) {
    std::string known;
    for (const Arch& arch : k_archs) {
        if (name == arch.name) return &arch;
        known += (known.empty() ? "" : ", ") + std::string(arch.name);
    }
    if (name.empty())
        return Error{Code::unsupported, "the file has no general.architecture, so it holds no model",
                     "Give a GGUF file of a language model."};
    return Error{Code::unsupported, fmt::format("the architecture '{}' is not supported", printable(name)),
                 fmt::format("These work: {}.", known)};
}

}  // namespace ft
