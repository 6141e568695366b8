// A copy of a sequence's keys, values and recurrent state beside the pool, so that others may have its pages
// meanwhile. What is put back is what was copied, to the bit.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/memory_map.h"
#include "kv/page_pool.h"
#include "model/ops.h"

namespace ft {

class SequenceCopy {
 public:
    // Of the first n_position positions of `memory`, whose pages come from `pool`. An error: the system does
    // not give that much memory.
    static Expected<SequenceCopy> of(int64_t n_position, const PagePool& pool, const SequenceMemory& memory);
    // Bytes that it will take.
    static uint64_t bytes_of(int64_t n_position, const PagePool& pool, const SequenceMemory& memory);

    uint64_t bytes() const { return bytes_.size(); }

    // Into a sequence of which nothing was dropped and whose pages are its own; it takes those that are
    // missing. False: the pool has not enough of them.
    bool restore(const PagePool& pool, SequenceMemory& memory) const;

 private:
    SequenceCopy(std::vector<uint8_t> held, MemoryMap bytes)
        : held_(std::move(held)), bytes_(std::move(bytes)) {}

    std::vector<uint8_t> held_;  // by block
    MemoryMap bytes_;            // pages, matrices, histories
};

}  // namespace ft
