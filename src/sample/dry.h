// DRY ("don't repeat yourself"): a token is penalised by the length of the sequence that it would repeat, so
// that loops end while single words may come again. After p-e-w's definition in text-generation-webui.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ft {

struct DryParams {
    float multiplier = 0;    // 0: off
    float base = 1.75f;      // >= 1
    int allowed_length = 2;  // repeated sequences up to one token shorter than this cost nothing; >= 1
    int last_n = -1;         // tokens that are looked back on, the prompt's included; -1: all
    std::vector<int32_t> breakers = {};  // rising ids; no sequence reaches over them
};

class Dry {
 public:
    explicit Dry(DryParams params);

    void accept(int32_t id);  // the next token of the sequence

    // Where the last n tokens stood before, n >= allowed_length, the token that followed them there loses
    // multiplier * base^(n - allowed_length), n the longest such length. O(tokens looked back on).
    void apply(std::span<float> logits);

 private:
    struct Repeat {
        int32_t id;
        uint32_t length;
    };
    bool breaks(int32_t id) const;
    uint32_t tokens_since_breaker(std::span<const int32_t> recent) const;
    void find_repeats(std::span<const int32_t> recent, uint32_t most);

    DryParams params_;
    std::vector<int32_t> history_;
    std::vector<uint32_t> common_;  // scratch of find_repeats()
    std::vector<Repeat> repeats_;   // rising ids, each once
};

}  // namespace ft
