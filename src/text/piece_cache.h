// The words of this text and where their ids stand in the output already. Direct-mapped, so never larger than
// this.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/token_index.h"

namespace ft {

class PieceCache {
 public:
    // Appends the ids that `piece` had before, or calls encode(), which appends them.
    template <class Encode>
    void encode(std::string_view piece, std::vector<int32_t>& ids, Encode encode) {
        if (piece.size() > k_longest) return encode();
        if (slots_.empty()) slots_.resize(k_slots);
        Slot& slot = slots_[hash_text(piece) % k_slots];
        if (slot.size == piece.size() && std::memcmp(slot.text, piece.data(), piece.size()) == 0) {
            for (size_t i = 0; i < slot.n; ++i) ids.push_back(ids[slot.at + i]);
            return;
        }
        const size_t at = ids.size();
        encode();
        slot.at = at;
        slot.n = static_cast<uint8_t>(ids.size() - at);  // a byte is at most one id
        slot.size = static_cast<uint8_t>(piece.size());
        std::memcpy(slot.text, piece.data(), piece.size());
    }

 private:
    static constexpr size_t k_longest = 38;
    static constexpr size_t k_slots = 2048;
    struct Slot {
        uint64_t at = 0;  // of the first id
        uint8_t n = 0;
        uint8_t size = 0;  // 0: free
        char text[k_longest] = {};
    };
    std::vector<Slot> slots_;
};

}  // namespace ft
