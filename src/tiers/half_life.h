// How long lfu remembers, by the size of the cache.
#pragma once

#include <cstdint>

namespace ft {

// Tokens after which a use counts half, in the middle one of three memories (tiers/use_forecast.h): 16, and
// up to 32 where a cache is smaller than half of what one token asks for. So few slots are for the experts
// that stay popular, and telling those takes longer; with more slots, what was used lately is worth more
// (docs/expert-cache.md). demand: experts that one token asks for, over all layers.
double half_life_for(int64_t n_slots, int64_t demand);

}  // namespace ft
