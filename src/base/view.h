// A view of a matrix in memory that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ft {

// rows x cols values of T; row i starts at data + i * stride (stride >= cols, in values).
template <class T>
struct View2 {
    T* data = nullptr;
    int64_t rows = 0;
    int64_t cols = 0;
    int64_t stride = 0;

    T* row(int64_t i) const { return data + i * stride; }
    // The same memory as fewer rows.
    View2 first(int64_t n) const { return {data, n, cols, stride}; }
    operator View2<const T>() const { return {data, rows, cols, stride}; }
};

}  // namespace ft
