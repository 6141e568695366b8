#include "model/scratch.h"

namespace ft {

namespace {

int64_t whole_blocks(int64_t width) {
    return static_cast<int64_t>(round_up(static_cast<uint64_t>(width), 256));
}

}  // namespace

ActBuffer::ActBuffer(const Kernels& kernels, int64_t max_row, int64_t max_width) : kernels_(&kernels) {
    const int64_t width = whole_blocks(max_width);
    for (ActKind kind : {ActKind::f32, ActKind::q8_256, ActKind::q8_32}) {
        pointers_[index(kind)].resize(static_cast<size_t>(max_row));
        if (kind != ActKind::f32)
            memory_[index(kind)] =
                Buffer<std::byte>(static_cast<size_t>(max_row) * kernels.act_bytes(kind, width));
    }
}

void ActBuffer::set(View2<const float> rows) {
    rows_ = rows;
    for (ActKind kind : {ActKind::q8_256, ActKind::q8_32}) {
        made_[index(kind)] = false;
        // rows that are no whole blocks have no weights of such types
        if (rows.cols % (kind == ActKind::q8_256 ? 256 : 32) != 0) continue;
        blob_bytes_[index(kind)] = kernels_->act_bytes(kind, rows.cols);
        for (int64_t i = 0; i < rows.rows; i++)
            pointers_[index(kind)][i] =
                memory_[index(kind)].data() + static_cast<size_t>(i) * blob_bytes_[index(kind)];
    }
    made_[index(ActKind::f32)] = true;
    for (int64_t i = 0; i < rows.rows; i++)
        pointers_[index(ActKind::f32)][i] = reinterpret_cast<const std::byte*>(rows.row(i));
}

void ActBuffer::make_row(ActKind kind, int64_t row) {
    kernels_->quantise(kind, rows_.row(row), rows_.cols,
                       memory_[index(kind)].data() + static_cast<size_t>(row) * blob_bytes_[index(kind)]);
}

uint64_t ActBuffer::bytes() const {
    uint64_t sum = 0;
    for (size_t kind = 0; kind < 3; kind++)
        sum += memory_[kind].size() + pointers_[kind].size() * sizeof(pointers_[kind][0]);
    return sum;
}

uint64_t ActBuffer::bytes_per_row(const Kernels& kernels, int64_t max_width) {
    const int64_t width = whole_blocks(max_width);
    return kernels.act_bytes(ActKind::q8_256, width) + kernels.act_bytes(ActKind::q8_32, width) +
           3 * sizeof(const std::byte*);
}

}  // namespace ft
