#include "model/guess_routers.h"

#include "quant/stored_blocks.h"

namespace ft {

namespace {

const TypeInfo& copy_type() { return type_info(QuantType::Q8_0); }

// A row that is no whole number of blocks is read as it is.
bool is_copied(const Layer& layer) {
    return layer.is_mixture() && layer.mixture.index > 0 &&
           layer.mixture.router.n_col % copy_type().block_values == 0;
}

// The copy's shape, without data.
Weight copy_of(const Weight& router) {
    Weight copy = router;
    copy.type = &copy_type();
    copy.row_bytes = copy_type().row_bytes(router.n_col);
    copy.data = nullptr;
    return copy;
}

}  // namespace

uint64_t GuessRouters::bytes_of(std::span<const Layer> layers) {
    uint64_t sum = 0;
    for (const Layer& layer : layers)
        if (is_copied(layer)) sum += copy_of(layer.mixture.router).bytes();
    return sum;
}

GuessRouters::GuessRouters(std::span<const Layer> layers) : memory_(bytes_of(layers)) {
    std::byte* to = memory_.data();
    for (const Layer& layer : layers) {
        if (!layer.is_mixture()) continue;
        const Weight& router = layer.mixture.router;
        copies_.push_back(router);
        if (!is_copied(layer)) continue;
        Weight& copy = copies_.back();
        copy = copy_of(router);
        copy.data = to;
        for (int64_t row = 0; row < router.n_row; row++, to += copy.row_bytes) {
            const std::byte* const from = router.data + static_cast<size_t>(row) * router.row_bytes;
            store_q8_0(reinterpret_cast<const float*>(from), router.n_col, to);
        }
    }
}

const Weight& GuessRouters::of(const Layer& layer) const {
    return copies_[static_cast<size_t>(layer.mixture.index)];
}

}  // namespace ft
