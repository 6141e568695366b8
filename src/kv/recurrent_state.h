// State of the recurrent layers of one sequence: a fixed size, whatever the context. f32, zero at the start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/buffer.h"

namespace ft {

struct RecurrentShape {
    int n_layer = 0;        // layers with recurrent state
    int n_head = 0;         // value heads
    int64_t dim = 0;        // state of a head is dim x dim
    int64_t n_channel = 0;  // of the convolution
    int n_history = 0;      // inputs that it remembers: taps - 1

    size_t matrix_values() const { return static_cast<size_t>(n_head) * dim * dim; }
    size_t history_values() const { return static_cast<size_t>(n_history) * n_channel; }
    uint64_t bytes() const { return n_layer * (matrix_values() + history_values()) * sizeof(float); }
};

class RecurrentState {
 public:
    RecurrentState() = default;
    explicit RecurrentState(const RecurrentShape& shape)
        : shape_(shape),
          matrix_(shape.n_layer * shape.matrix_values()),
          history_(shape.n_layer * shape.history_values()) {}

    const RecurrentShape& shape() const { return shape_; }
    // [n_head, dim, dim]: row = key index, column = value index
    float* matrix(int layer) { return matrix_.data() + layer * shape_.matrix_values(); }
    // [n_history, n_channel]: the newest inputs before convolution, oldest first
    float* history(int layer) { return history_.data() + layer * shape_.history_values(); }
    // All of it, to be written to a file and read back.
    std::span<float> all_matrices() { return matrix_.span(); }
    std::span<float> all_histories() { return history_.span(); }
    std::span<const float> all_matrices() const { return matrix_.span(); }
    std::span<const float> all_histories() const { return history_.span(); }
    // Of the same shape.
    void copy_from(const RecurrentState& other) {
        std::copy_n(other.matrix_.data(), matrix_.size(), matrix_.data());
        std::copy_n(other.history_.data(), history_.size(), history_.data());
    }
    void clear() {
        std::fill_n(matrix_.data(), matrix_.size(), 0.0f);
        std::fill_n(history_.data(), history_.size(), 0.0f);
    }

 private:
    RecurrentShape shape_;
    Buffer<float> matrix_, history_;
};

}  // namespace ft
