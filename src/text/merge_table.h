// tokenizer.ggml.merges as pairs of ids: which two tokens join, when, and into which.
#pragma once

#include <cstdint>
#include <vector>

#include "text/merge.h"
#include "text/token_index.h"
#include "text/vocabulary.h"

namespace ft {

class MergeTable {
 public:
    // Merges that name or make something that is no token cannot happen; how many is logged.
    MergeTable(const Vocabulary& vocabulary, const TokenIndex& index);

    Join find(int32_t left, int32_t right) const {
        for (size_t at = slot_of(left, right);; at = at + 1 == slots_.size() ? 0 : at + 1) {
            const Slot& slot = slots_[at];
            if (slot.left == left && slot.right == right) return slot.join;
            if (slot.left < 0) return {};
        }
    }

 private:
    struct Slot {
        int32_t left = -1, right = -1;  // left -1: free
        Join join;
    };

    size_t slot_of(int32_t left, int32_t right) const {
        const uint64_t key =
            (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
        const uint64_t hash = (key ^ (key >> 29)) * 0x9E3779B97F4A7C15;
        return static_cast<size_t>((static_cast<unsigned __int128>(hash) * slots_.size()) >> 64);
    }
    void add(int32_t left, int32_t right, Join join);

    std::vector<Slot> slots_;
};

}  // namespace ft
