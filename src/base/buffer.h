// Memory that kernels read: 64-byte aligned, move-only, sized once.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace ft {

// n elements of T, aligned to `alignment` bytes, zero-filled. A load that crosses a cache line costs two.
template <class T>
class Buffer {
 public:
    Buffer() = default;
    explicit Buffer(size_t n, size_t alignment = 64)
        : data_(static_cast<T*>(::operator new(n * sizeof(T) + 64, std::align_val_t(alignment))),
                Free{std::align_val_t(alignment)}),
          size_(n) {
        std::memset(static_cast<void*>(data_.get()), 0, n * sizeof(T) + 64);
    }
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    size_t size() const { return size_; }
    T& operator[](size_t i) { return data_.get()[i]; }
    const T& operator[](size_t i) const { return data_.get()[i]; }
    std::span<T> span() { return {data(), size_}; }
    std::span<const T> span() const { return {data(), size_}; }

 private:
    struct Free {
        std::align_val_t alignment{64};
        void operator()(T* p) const { ::operator delete(static_cast<void*>(p), alignment); }
    };
    std::unique_ptr<T[], Free> data_;
    size_t size_ = 0;
};

}  // namespace ft
