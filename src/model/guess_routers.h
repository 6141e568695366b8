// Routers in a quarter of their size, to guess the next layer's experts with. A guess costs the time in which
// the router's weights come from RAM, for every layer and token, and names the same experts but for a few.
// Nothing that is computed comes from these copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "model/weights.h"

namespace ft {

class GuessRouters {
 public:
    GuessRouters() = default;
    // Q8_0 copies of the routers of all layers but the first, which nothing guesses for. Their weights must
    // have been loaded.
    explicit GuessRouters(std::span<const Layer> layers);
    // What the copies take; no weights are needed.
    static uint64_t bytes_of(std::span<const Layer> layers);

    // The layer's router; the copy where there is one.
    const Weight& of(const Layer& layer) const;

 private:
    Buffer<std::byte> memory_;
    std::vector<Weight> copies_;  // by the layer's number among those with a mixture
};

}  // namespace ft
