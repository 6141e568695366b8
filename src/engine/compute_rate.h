// How fast this machine's cores multiply quantised weights, with the kernels that a model will use.
#pragma once

#include "base/error.h"

namespace ft {

struct ComputeRate {
    double read_gb_per_second = 0;  // weights (1e9 bytes) multiplied with one token: decoding
    double gflops = 0;              // products with several tokens, two operations per weight: prompts
};

// Q4_K weights that no cache holds (96 MiB of memory meanwhile), on `threads` threads, for about `seconds` in
// all.
Expected<ComputeRate> measure_compute(int threads, double seconds);

}  // namespace ft
