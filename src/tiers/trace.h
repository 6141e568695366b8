// Recorded routes: which experts each mixture layer chose for each token. What the policies are judged by.
// The file's form: docs/formats/routing_trace.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ft {

struct Trace {
    // One layer's choice for one token. Rows stand token by token, layers rising. A row may be absent: a
    // layer is not computed for prompt tokens whose logits nobody wants.
    struct Row {
        int layer;  // among the mixture layers, from 0
        int64_t token;
        uint64_t first;  // of its experts in `experts`
        int n_experts;
    };

    std::string model = {};
    int n_layers = 0, n_experts = 0, top_k = 0;
    int64_t n_tokens = 0, n_prompt = 0;       // prompt tokens come first
    std::vector<uint64_t> expert_bytes = {};  // [n_layers] of one expert; empty: unknown
    std::vector<Row> rows = {};
    std::vector<uint16_t> experts = {};  // by falling router weight

    std::span<const uint16_t> chosen(const Row& row) const {
        return {experts.data() + row.first, static_cast<size_t>(row.n_experts)};
    }
    int demand_slots() const { return n_layers * top_k; }  // experts that one token asks for
    uint64_t demand_bytes() const;                         // 0: unknown
};

// Limits of a trace: what would need more is no trace of a model.
constexpr int k_most_trace_layers = 4096, k_most_trace_experts = 65535;
constexpr int64_t k_most_experts_of_trace = int64_t{1} << 20;  // over all layers

// Errors name the file and the line. A file that is no trace is refused by its first line.
Expected<Trace> read_trace(const std::string& path);
Expected<Trace> parse_trace(std::string_view text, std::string_view name);

std::string trace_text(const Trace& trace);
Status write_trace(const Trace& trace, const std::string& path);

// Takes routes in any order (a chunk visits a layer for all its tokens) and puts them into that of the file.
class TraceRecorder {
 public:
    explicit TraceRecorder(Trace header) : trace_(std::move(header)) {}
    void add(int layer, int64_t token, std::span<const int> experts);
    Trace finish();  // n_tokens counted

 private:
    Trace trace_;
};

}  // namespace ft
