// The memory of all keys and values: a fixed number of pages, reserved once. A page holds 128 positions of
// every attention layer and head; sequences share pages by counting references, and a page that is shared is
// never written.
//
// Owner: one thread at a time. Other threads may read and write the bytes of pages meanwhile; nothing here
// allocates after create().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/memory_map.h"
#include "kv/kv_shape.h"

namespace ft {

class PagePool {
 public:
    // An error: the system does not give that much memory.
    static Expected<std::unique_ptr<PagePool>> create(const KvShape& shape, int64_t n_page);
    PagePool(const PagePool&) = delete;
    PagePool& operator=(const PagePool&) = delete;

    const KvShape& shape() const { return shape_; }
    int64_t n_page() const { return static_cast<int64_t>(refs_.size()); }
    int64_t n_free() const { return static_cast<int64_t>(free_.size()); }
    uint64_t page_bytes() const { return page_bytes_; }

    // A free page with one reference; its bytes are what they were. Nothing: all pages are in use.
    std::optional<int32_t> take();
    void share(int32_t page);    // one reference more
    void release(int32_t page);  // one less; free at zero
    int refs(int32_t page) const {
        check(page >= 0 && page < n_page(), "a page that the pool does not have");
        return refs_[static_cast<size_t>(page)];
    }

    // [layer][head][K | V], each [128 positions][row bytes of its type]
    std::span<std::byte> bytes(int32_t page) const {
        return {memory_.data() + static_cast<size_t>(page) * page_bytes_, page_bytes_};
    }

 private:
    PagePool(const KvShape& shape, int64_t n_page, MemoryMap memory);

    const KvShape shape_;
    const size_t page_bytes_;
    MemoryMap memory_;
    std::vector<int32_t> refs_;
    std::vector<int32_t> free_;  // the last one is taken next
};

}  // namespace ft
