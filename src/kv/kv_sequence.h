// Keys and values of one sequence: its pages in the order of positions. Block b holds the positions
// [128 b, 128 b + 128).
//
// Owner: one thread at a time. write() and chunk() of different positions or heads may run at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "kv/page_pool.h"

namespace ft {

class KvSequence {
 public:
    explicit KvSequence(PagePool& pool);  // the pool must outlive the sequence
    KvSequence(KvSequence&& other) noexcept;
    KvSequence& operator=(KvSequence&& other) noexcept;
    ~KvSequence();  // releases its pages

    // Takes the pages that the positions before n_position need. False: the pool has not enough of them, and
    // none was taken.
    bool reserve(int64_t n_position);
    // Releases the pages that only positions from n_position on need.
    void truncate(int64_t n_position);
    // Releases the page of a block; its positions are gone, all others stay what they were.
    void drop(int64_t block);
    // Drops the blocks of which no token from `position` on sees anything: older than the last `window`
    // positions and none of the first `sinks`. window 0: nothing.
    void slide(int64_t position, int64_t window, int64_t sinks);
    // Whether all is there that a token at `position` sees.
    bool holds(int64_t position, int64_t window, int64_t sinks) const;
    // Makes place for a sequence that was stored somewhere: of its blocks, those that were held then (1) have
    // a page afterwards, those that were dropped (0) have none; what lies behind them stays. Nothing has been
    // dropped before. False: the pool has not enough pages, and none was taken.
    bool restore(std::span<const uint8_t> held);
    // The first pages of an empty sequence, shared with others; -1 stays a dropped block.
    void adopt(std::span<const int32_t> pages);
    // Afterwards the block's page is this sequence's alone, a copy where it was shared. False: the pool is
    // empty, nothing changed. To be called before writing into a block that was adopted.
    bool make_private(int64_t block);

    const KvShape& shape() const { return pool_->shape(); }
    std::span<const int32_t> pages() const { return pages_; }  // by block; -1: dropped

    // Stores the key [dim_k] and value [dim_v] of one head at a position: rounded to the stored types. The
    // position's page is this sequence's alone.
    void write(int layer, int head, int64_t position, const float* k, const float* v);
    // The first n_pos positions of a block, for one head. The block was not dropped.
    AttendChunk chunk(int layer, int head, int64_t block, int n_pos) const;

 private:
    std::byte* head_at(int layer, int head, int64_t block) const;

    PagePool* pool_;
    std::vector<int32_t> pages_;
};

}  // namespace ft
