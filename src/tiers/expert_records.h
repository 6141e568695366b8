// Where the experts of a model lie in its file(s): for each layer the stacks of slices (gate, up, down; or
// gate and up as one, and down). Expert e of a stack is one contiguous range. Bytes are the same in every
// tier. In the model's file the experts of a stack follow each other; in a pack (tiers/expert_pack.h) the
// slices of an expert do.
#pragma once

#include <cstdint>
#include <vector>

#include "io/file.h"

namespace ft {

struct SliceStack {
    const File* file = nullptr;
    uint64_t offset = 0;       // of expert 0
    uint64_t slice_bytes = 0;  // of one expert
    uint64_t stride = 0;       // from one expert to the next; 0: slice_bytes

    uint64_t of(int expert) const {
        return offset + static_cast<uint64_t>(expert) * (stride > 0 ? stride : slice_bytes);
    }
};

// A layer whose feed-forward is a mixture.
struct ExpertLayer {
    int size_class = 0;  // layers of one class have slices of the same sizes
    int n_expert = 0;
    std::vector<SliceStack> stacks;
};

// Layers in the order in which a token visits them; numbered 0 .. n-1 over the mixtures alone.
using ExpertRecords = std::vector<ExpertLayer>;

}  // namespace ft
