// How the rows of one step are shared among the running sequences: one for each that has a single token to
// feed, the others' prompts in what is left. A pure function.
#pragma once

#include <cstdint>
#include <span>

#include "engine/request.h"

namespace ft {

struct StepNeed {
    Lane lane = Lane::interactive;
    int64_t pending = 0;  // tokens that are to be fed; at least 1
    int64_t most = 0;     // of them, that one step may take: up to the next place where state is kept
    int64_t rows = 0;     // result
};

struct StepLimits {
    int64_t rows = 256;         // of the step
    int64_t prompt_rows = 256;  // of them, of sequences with more than one token to feed
};

// Fills in the rows of each need, in the order of arrival. Where there are more single tokens than rows,
// `turn` (the number of the step) decides whose they are. Of the prompt rows interactive prompts take what
// they can, but a quarter is the batch lane's where both have prompts; within a lane all get the same.
void plan_step(std::span<StepNeed> needs, const StepLimits& limits, uint64_t turn);

}  // namespace ft
