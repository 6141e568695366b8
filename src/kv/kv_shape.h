// How keys and values of one position are stored, and what a page of them takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace ft {

constexpr int k_kv_block = 128;  // positions of a page: the chunks in which attention is defined

struct KvTypes {
    KvType k = KvType::f16, v = KvType::f16;
};

// Bytes of `dim` values as stored.
size_t kv_row_bytes(KvType type, int dim);

struct KvShape {
    int n_layer = 0;  // layers that have attention
    int n_head_kv = 0;
    int dim_k = 0, dim_v = 0;
    KvType type_k = KvType::f16, type_v = KvType::f16;

    // As `types` say, but f16 where a head cannot be cut into blocks of 32 values.
    void store_as(KvTypes types);
    size_t row_bytes_k() const { return kv_row_bytes(type_k, dim_k); }
    size_t row_bytes_v() const { return kv_row_bytes(type_v, dim_v); }
    uint64_t bytes_per_token() const;  // of all layers and heads
    uint64_t page_bytes() const { return bytes_per_token() * k_kv_block; }
};

// Pages that hold the positions [0, n_position).
constexpr int64_t kv_pages(int64_t n_position) { return (n_position + k_kv_block - 1) / k_kv_block; }

}  // namespace ft
