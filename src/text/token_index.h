// Token texts to ids: open addressing over the vocabulary's own bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/string_list.h"

namespace ft {

uint64_t hash_text(std::string_view text);

class TokenIndex {
 public:
    // `texts` must outlive the index; room for `capacity` texts.
    TokenIndex(const StringList& texts, size_t capacity);

    // A text that is there already keeps its first id.
    void add(int32_t id);

    // -1: no such token.
    int32_t find(std::string_view text) const { return find(text, hash_text(text)); }
    int32_t find(std::string_view text, uint64_t hash) const;
    void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

 private:
    struct Slot {
        uint32_t check = 0;  // the hash's upper half
        int32_t id = -1;     // -1: free
    };

    const StringList& texts_;
    std::vector<Slot> slots_;
    uint64_t mask_ = 0;
};

}  // namespace ft
