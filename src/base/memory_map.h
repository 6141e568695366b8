// Anonymous memory that costs nothing until it is written: for caches that are sized for the longest context,
// and for weights whose place is known before they are read.
#pragma once

#include <cstddef>
#include <utility>

#include "base/error.h"

namespace ft {

// Owns a zero-filled mapping, page-aligned. Move-only.
class MemoryMap {
 public:
    // huge_pages: for memory that is streamed as a whole (weights); what is touched here and there would take
    // more of it.
    static Expected<MemoryMap> reserve(size_t bytes, bool huge_pages = false);
    MemoryMap() = default;
    MemoryMap(MemoryMap&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    MemoryMap& operator=(MemoryMap&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~MemoryMap();

    // Fewer TLB misses where the range is streamed. Only whole huge pages inside it: what lies around stays
    // untouched.
    void prefer_huge_pages(size_t offset, size_t bytes);

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }

 private:
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace ft
