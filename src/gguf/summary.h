// What a model file is, in figures: for `show`, and for whoever plans memory. Works on any GGUF file; what a
// file does not say is absent, never an error.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gguf/gguf.h"
#include "gguf/roles.h"

namespace ft {

struct ExpertSizeClass {
    uint64_t bytes = 0;    // of one expert: its slices of gate, up and down
    int64_t n_layers = 0;  // that have experts of this size
};

struct Summary {
    std::string architecture, name, license;  // "" where the file does not say
    std::string kind;                         // general.type, usually "model"
    std::string quantisation;                 // "Q4_K_M"; "" without weights
    std::optional<int64_t> context_length;
    std::optional<int64_t> n_layers;  // that run: without MTP blocks
    int64_t n_mtp_layers = 0;

    uint64_t total_parameters = 0;   // elements of all tensors
    uint64_t active_parameters = 0;  // of the layers that run, less the experts that are not chosen

    int64_t n_experts = 0;                      // of each mixture layer; 0: dense
    int64_t n_experts_used = 0;                 // per token; the largest where layers differ
    std::vector<ExpertSizeClass> expert_sizes;  // rising bytes

    uint64_t tensor_bytes = 0;
    std::array<uint64_t, k_roles> bytes_by_role{};  // by Role
    std::map<std::string, uint64_t> bytes_by_type;

    std::optional<uint64_t> kv_bytes_per_token;  // f16 keys and values of all attention layers

    std::string tokenizer_model, tokenizer_pre;
    std::optional<int64_t> vocab_size;
    std::optional<std::string> chat_template;

    std::vector<std::string> warnings;  // a sentence each
};

Summary summarise(const Gguf& gguf);

}  // namespace ft
