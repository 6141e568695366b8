// Memory for experts: slots of a few sizes in one mapping that is committed at start, so that what the plan
// promised is there before the first token. Only where other programs need it some are given back later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_map.h"

namespace ft {

// Slots of one size. A slot has room for each slice with a block of slack, because direct reads move whole
// blocks and a slice begins anywhere in one.
struct SlotClass {
    std::vector<uint64_t> slices;  // bytes of each slice of an expert
    int64_t n_slot = 0;
};

// Where the room of each slice begins in a slot, and the slot's size last: whole blocks.
std::vector<uint64_t> slot_rooms(std::span<const uint64_t> slices);

class Slots {
 public:
    // Reserves and commits; `n_thread` threads share the work of clearing the pages. An error: the system has
    // not that much memory to give.
    static Expected<Slots> create(std::vector<SlotClass> classes, int n_thread);

    // Slots are numbered over all classes: those of class 0 first.
    int count() const { return static_cast<int>(class_of_.size()); }
    int class_of(int slot) const { return class_of_[static_cast<size_t>(slot)]; }
    uint64_t bytes() const { return memory_.size(); }
    uint64_t slot_bytes(int slot) const { return rooms_[static_cast<size_t>(class_of(slot))].back(); }
    // Gives the memory of a slot back to the system; its content is lost. commit() makes it usable again;
    // false where the system has none.
    void release(int slot);
    bool commit(int slot);
    // The room for slice `slice`: a whole number of blocks, beginning at a block. Byte o of the file goes to
    // room + o % block.
    std::byte* room(int slot, int slice) const {
        const auto& rooms = rooms_[static_cast<size_t>(class_of(slot))];
        return memory_.data() + begin_[static_cast<size_t>(slot)] + rooms[static_cast<size_t>(slice)];
    }

 private:
    MemoryMap memory_;
    std::vector<int> class_of_;
    std::vector<uint64_t> begin_;               // of each slot, from the mapping's begin
    std::vector<std::vector<uint64_t>> rooms_;  // [class][slice], from the slot's begin
};

}  // namespace ft
