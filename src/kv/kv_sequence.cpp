#include "kv/kv_sequence.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "quant/half.h"
#include "quant/stored_blocks.h"

namespace ft {

namespace {

void store_row(KvType type, const float* values, int dim, std::byte* row) {
    switch (type) {
        case KvType::f16:
            for (int i = 0; i < dim; i++) store(row + 2 * i, float_to_half(values[i]));
            return;
        case KvType::f32:
            std::memcpy(row, values, sizeof(float) * static_cast<size_t>(dim));
            return;
        case KvType::q8_0:
            return store_q8_0(values, dim, row);
        case KvType::q4_0:
            return store_q4_0(values, dim, row);
    }
}

}  // namespace

KvSequence::KvSequence(PagePool& pool) : pool_(&pool) { pages_.reserve(static_cast<size_t>(pool.n_page())); }

KvSequence::KvSequence(KvSequence&& other) noexcept
    : pool_(other.pool_), pages_(std::exchange(other.pages_, {})) {}

KvSequence& KvSequence::operator=(KvSequence&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(pages_, other.pages_);
    return *this;
}

KvSequence::~KvSequence() { truncate(0); }

bool KvSequence::reserve(int64_t n_position) {
    const int64_t missing = kv_pages(n_position) - static_cast<int64_t>(pages_.size());
    if (missing > pool_->n_free()) return false;
    for (int64_t i = 0; i < missing; i++) pages_.push_back(*pool_->take());
    return true;
}

void KvSequence::truncate(int64_t n_position) {
    const auto keep = static_cast<size_t>(kv_pages(n_position));
    for (; pages_.size() > keep; pages_.pop_back())
        if (pages_.back() >= 0) pool_->release(pages_.back());
}

void KvSequence::drop(int64_t block) {
    int32_t& page = pages_[static_cast<size_t>(block)];
    if (page >= 0) pool_->release(page);
    page = -1;
}

namespace {

// The blocks between sinks and window: [first, second).
std::pair<int64_t, int64_t> out_of_sight(int64_t position, int64_t window, int64_t sinks) {
    if (window == 0) return {0, 0};
    const int64_t begin = kv_pages(sinks), end = std::max<int64_t>(0, position + 1 - window) / k_kv_block;
    return {begin, std::max(begin, end)};
}

}  // namespace

void KvSequence::slide(int64_t position, int64_t window, int64_t sinks) {
    const auto [begin, end] = out_of_sight(position, window, sinks);
    for (int64_t block = std::min(end, static_cast<int64_t>(pages_.size())); block-- > begin;) {
        if (pages_[static_cast<size_t>(block)] < 0) break;  // those before it went when this one did
        drop(block);
    }
}

bool KvSequence::holds(int64_t position, int64_t window, int64_t sinks) const {
    const auto [begin, end] = out_of_sight(position, window, sinks);
    const int64_t n = std::min(kv_pages(position), static_cast<int64_t>(pages_.size()));
    for (int64_t block = 0; block < n; block++)
        if ((block < begin || block >= end) && pages_[static_cast<size_t>(block)] < 0) return false;
    return true;
}

bool KvSequence::restore(std::span<const uint8_t> held) {
    const size_t have = std::min(pages_.size(), held.size());
    for (size_t block = 0; block < have; block++)
        if (held[block] == 0) drop(static_cast<int64_t>(block));
    const auto further = held.subspan(have);
    if (std::ranges::count(further, 1) > pool_->n_free()) return false;
    for (const uint8_t is_held : further) pages_.push_back(is_held == 1 ? *pool_->take() : -1);
    return true;
}

void KvSequence::adopt(std::span<const int32_t> pages) {
    check(pages_.empty(), "pages are adopted by a sequence that has some");
    pages_.assign(pages.begin(), pages.end());
    for (const int32_t page : pages)
        if (page >= 0) pool_->share(page);
}

bool KvSequence::make_private(int64_t block) {
    int32_t& page = pages_[static_cast<size_t>(block)];
    if (pool_->refs(page) == 1) return true;
    const auto copy = pool_->take();
    if (!copy) return false;
    std::ranges::copy(pool_->bytes(page), pool_->bytes(*copy).begin());
    pool_->release(page);
    page = *copy;
    return true;
}

std::byte* KvSequence::head_at(int layer, int head, int64_t block) const {
    const KvShape& shape = pool_->shape();
    const size_t head_bytes = k_kv_block * (shape.row_bytes_k() + shape.row_bytes_v());
    const auto index = static_cast<size_t>(layer) * shape.n_head_kv + static_cast<size_t>(head);
    const int32_t page = pages_[static_cast<size_t>(block)];
    check(page >= 0, "a block that was dropped is used");
    return pool_->bytes(page).data() + index * head_bytes;
}

void KvSequence::write(int layer, int head, int64_t position, const float* k, const float* v) {
    const int64_t block = position / k_kv_block;
    const auto row = static_cast<size_t>(position % k_kv_block);
    check(pool_->refs(pages_[static_cast<size_t>(block)]) == 1, "a shared page is written");
    const KvShape& shape = pool_->shape();
    std::byte* const at = head_at(layer, head, block);
    store_row(shape.type_k, k, shape.dim_k, at + row * shape.row_bytes_k());
    store_row(shape.type_v, v, shape.dim_v,
              at + k_kv_block * shape.row_bytes_k() + row * shape.row_bytes_v());
}

AttendChunk KvSequence::chunk(int layer, int head, int64_t block, int n_pos) const {
    const KvShape& shape = pool_->shape();
    const std::byte* const at = head_at(layer, head, block);
    return AttendChunk{.type_k = shape.type_k,
                       .type_v = shape.type_v,
                       .k = at,
                       .v = at + k_kv_block * shape.row_bytes_k(),
                       .k_stride = shape.row_bytes_k(),
                       .v_stride = shape.row_bytes_v(),
                       .dim_k = shape.dim_k,
                       .dim_v = shape.dim_v,
                       .n_pos = n_pos};
}

}  // namespace ft
