// Belady's optimum: gives up the expert whose next use is farthest, and lets none in whose own is farther. It
// knows the future, so it exists in replay only, as the ceiling that no policy can pass.
#pragma once

#include <memory>

#include "tiers/policy.h"
#include "tiers/replay.h"

namespace ft {

// used() must be called for all visits in their order, `time` the index of the visit.
std::unique_ptr<EvictionPolicy> make_belady(const PolicyShape& shape, const Visits& visits);

}  // namespace ft
