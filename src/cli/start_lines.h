// What `serve` says at its start, in words that scripts look for (docs/api.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ft::cli {

struct StartFacts {
    std::string name;         // "35b-moe-chat-q4_k_m.gguf"
    uint64_t bytes_read = 0;  // of weights
    double load_seconds = 0;
    int threads = 0;
    std::string kernels;       // "avx2"
    std::string quantisation;  // "Q4_K_M"
    uint64_t ram_budget = 0, ram_planned = 0;
    int64_t experts_in_ram = 0, experts = 0;  // of all layers
    int64_t experts_per_layer = 0;            // 0: no mixture
    std::string kv_type;                      // "int8"
    int64_t n_ctx = 0;
    uint64_t kv_bytes = 0;
};

struct StartLine {
    std::string area, text;
};

// The lines before the one that says where the server listens.
std::vector<StartLine> start_lines(const StartFacts& facts);

}  // namespace ft::cli
