// How much memory a model takes, worked out before anything of it is read.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "model/hparams.h"

namespace ft {

struct MemoryNeed {
    uint64_t weights = 0, kv_cache = 0, state = 0, scratch = 0;  // bytes
    uint64_t total() const { return weights + kv_cache + state + scratch; }
};

// Bytes of a step of n_token rows, from the shapes alone; a little above what is allocated.
uint64_t scratch_estimate(const Hparams& hp, int64_t n_token);

// An error with the numbers where `need` is more than the `available` bytes of RAM.
Status check_memory(const MemoryNeed& need, uint64_t available);

}  // namespace ft
