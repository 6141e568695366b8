// Memory for experts: slots of a few sizes in one mapping that is committed at start, so that what the plan
// promised is there before the first token and nothing is mapped or given back later.
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

class Slots {
 public:
    // Reserves and commits; `n_thread` threads share the work of clearing the pages. An error: the system has
    // not that much memory to give.
    static Expected<Slots> create(std::vector<SlotClass> classes, int n_thread);

    // Slots are numbered over all classes: those of class 0 first.
    int count() const { return static_cast<int>(class_of_.size()); }
    int class_of(int slot) const { return class_of_[static_cast<size_t>(slot)]; }
    uint64_t bytes() const { return memory_.size(); }
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
