// Reads a header front to back through a small buffer, so that a header of any length costs bounded memory.
#pragma once

#include <algorithm>
#include <vector>

#include "io/file.h"

namespace ft {

class Cursor {
 public:
    explicit Cursor(const File& file)
        : file_(file), size_(file.size()), buffer_(std::min<uint64_t>(size_, k_buffer_bytes)) {}

    uint64_t position() const { return position_; }
    uint64_t remaining() const { return size_ - position_; }

    // Copies the next n bytes. The caller has compared n with remaining(); what is left to fail is the drive.
    Status read(void* to, uint64_t n);

 private:
    static constexpr size_t k_buffer_bytes = 256 * 1024;

    const File& file_;
    uint64_t size_;
    uint64_t position_ = 0;      // of the next byte
    uint64_t buffer_start_ = 0;  // position of buffer_[0]
    uint64_t buffer_filled_ = 0;
    std::vector<std::byte> buffer_;
};

}  // namespace ft
