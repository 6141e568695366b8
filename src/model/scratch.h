// Memory of one step, allocated once for the largest one. Rows of every view are 64-byte aligned, so that a
// row of f32 serves as an activation blob for float weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/view.h"
#include "kernels/kernels.h"
#include "model/hparams.h"

namespace ft {

// What the largest step needs: fixed + tokens * per_token bytes.
struct ScratchBytes {
    uint64_t fixed = 0, per_token = 0;
    uint64_t of(int64_t tokens) const { return fixed + static_cast<uint64_t>(tokens) * per_token; }
};

// A matrix of max_row rows that owns its memory.
class RowBuffer {
 public:
    RowBuffer() = default;
    RowBuffer(int64_t max_row, int64_t width)
        : stride_(stride_of(width)), width_(width), memory_(static_cast<size_t>(max_row * stride_)) {}
    View2<float> view(int64_t rows) { return {memory_.data(), rows, width_, stride_}; }
    // The rows as rows of another width that fits.
    View2<float> view(int64_t rows, int64_t width) { return {memory_.data(), rows, width, stride_}; }
    uint64_t bytes() const { return memory_.size() * sizeof(float); }
    static uint64_t bytes_per_row(int64_t width) {
        return static_cast<uint64_t>(stride_of(width)) * sizeof(float);
    }

 private:
    static int64_t stride_of(int64_t width) {
        return static_cast<int64_t>(round_up(static_cast<uint64_t>(width), 16));
    }
    int64_t stride_ = 0, width_ = 0;
    Buffer<float> memory_;
};

// Quantised activations of up to max_row rows, in the forms that the weights of one product need; made once
// per form.
class ActBuffer {
 public:
    ActBuffer() = default;
    ActBuffer(const Kernels& kernels, int64_t max_row, int64_t max_width);

    // Forgets what was made; the next blobs() are of these rows.
    void set(View2<const float> rows);
    // Whether blobs of this form are there; if not, make_row() each row, then made().
    bool has(ActKind kind) const { return made_[index(kind)]; }
    void make_row(ActKind kind, int64_t row);
    void made(ActKind kind) { made_[index(kind)] = true; }
    const std::byte* const* blobs(ActKind kind) const { return pointers_[index(kind)].data(); }
    View2<const float> rows() const { return rows_; }
    uint64_t bytes() const;
    static uint64_t bytes_per_row(const Kernels& kernels, int64_t max_width);

 private:
    static size_t index(ActKind kind) { return static_cast<size_t>(kind); }
    const Kernels* kernels_ = nullptr;
    View2<const float> rows_;
    bool made_[3] = {};
    size_t blob_bytes_[3] = {};    // of the present rows
    Buffer<std::byte> memory_[3];  // q8_256, q8_32; f32 rows are used where they lie
    std::vector<const std::byte*> pointers_[3];
};

}  // namespace ft
