// What a plan knows of a model: bytes, layers, experts. No architecture, no tensor name; whoever knows those
// fills this in (engine/model_shape.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ft {

// Experts that fit the same slots: their slices (gate, up, down, or gate+up as one, down) have the same
// sizes.
struct ExpertClass {
    std::vector<uint64_t> slices;  // bytes of each slice of one expert
    int64_t n_experts = 0;         // of all layers of the class
    int top_k = 0;                 // that one token needs of one layer; the largest of its layers

    uint64_t expert_bytes() const;  // of one expert, as in the file
    uint64_t slot_bytes() const;    // of the slot that holds one: direct reads need room around every slice
};

// A layer whose feed-forward is a mixture.
struct MixtureLayer {
    int expert_class = 0;  // index into ModelShape::classes
    int n_expert = 0;
    int top_k = 0;
};

// Weights that are always resident, by what they are for.
struct StaticPart {
    std::string name;             // "attention"
    uint64_t bytes = 0;           // as in the file
    uint64_t read_per_token = 0;  // of them, for one generated token
    bool on_card = true;          // false: read by rows, so it stays in RAM (the embedding table)
};

struct ModelShape {
    std::string name;
    int n_layer = 0;
    int64_t n_ctx_model = 0;  // the longest context that the model was made for
    std::vector<StaticPart> parts;
    std::vector<ExpertClass> classes;
    std::vector<MixtureLayer> mixtures;  // in the order in which a token visits them

    uint64_t kv_bytes_per_token = 0;
    uint64_t kv_int8_bytes_per_token = 0;  // the same stored as int8; 0 where that takes no less
    int64_t kv_page_tokens = 1;            // the cache grows in pages of so many tokens
    uint64_t state_bytes = 0;              // recurrent state of one sequence
    uint64_t guess_bytes = 0;              // small routers, where experts are read as guessed
    uint64_t scratch_fixed = 0;            // memory of a step whatever its length
    uint64_t scratch_per_token = 0;        // and for each token of the longest step
    uint64_t program_bytes = 0;            // program, file header, tokenizer, buffers of the loader
    double active_parameters = 0;          // weights that one token is multiplied with

    uint64_t static_bytes() const;
    uint64_t expert_bytes() const;  // of all experts, as in the file
    int64_t n_experts() const;      // of all layers
    int64_t demand_slots() const;   // experts that one token asks for, over all layers
    uint64_t demand_bytes() const;
    uint64_t kv_bytes(int64_t n_tokens) const;  // whole pages
};

}  // namespace ft
