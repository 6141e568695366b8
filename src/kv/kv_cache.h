// Keys and values of one sequence, in blocks of 128 positions: the chunks in which attention is defined
// (docs/arithmetic.md 4). Memory is reserved for the whole context and taken as positions are written.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/memory_map.h"
#include "kernels/kernels.h"

namespace ft {

constexpr int k_kv_block = 128;  // positions

struct KvShape {
    int n_layer = 0;  // layers that have attention
    int n_head_kv = 0;
    int dim_k = 0, dim_v = 0;
    int64_t n_ctx = 0;
    KvType type = KvType::f16;

    int value_bytes() const { return type == KvType::f32 ? 4 : 2; }
    uint64_t bytes_per_token() const;
    uint64_t bytes() const;  // of n_ctx tokens, whole blocks
};

class KvCache {
 public:
    static Expected<KvCache> create(const KvShape& shape);
    KvCache() = default;

    const KvShape& shape() const { return shape_; }

    // Stores the key [dim_k] and value [dim_v] of one head at a position: rounded to the stored type, nearest
    // even.
    void write(int layer, int head, int64_t position, const float* k, const float* v);

    // Positions [128 * block, 128 * block + n_pos) of one head.
    AttendChunk chunk(int layer, int head, int64_t block, int n_pos) const;

 private:
    std::byte* block_at(int layer, int head, int64_t block) const;
    KvShape shape_;
    size_t head_block_bytes_ = 0;  // K, then V, of 128 positions of one head
    int64_t n_block_ = 0;
    MemoryMap memory_;  // [layer][block][head][K | V]
};

}  // namespace ft
