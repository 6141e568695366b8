// How fast this machine's cores multiply quantised weights, with the kernels that a model will use.
#pragma once

#include <memory>

#include "base/error.h"

namespace ft {

struct ComputeRate {
    double read_gb_per_second = 0;  // weights (1e9 bytes) multiplied with one token: decoding
    double gflops = 0;              // products with several tokens, two operations per weight: prompts
};

// Q4_K weights that no cache holds (96 MiB of memory while this lives), on `threads` threads. Machines that
// are shared are faster in one moment than in the next: the middle one of several measurements counts, and
// other things are measured between them.
class ComputeBench {
 public:
    static Expected<ComputeBench> create(int threads);
    ComputeBench(ComputeBench&& other) noexcept;
    ~ComputeBench();

    void measure(double seconds);
    // After at least one measurement.
    ComputeRate rate() const;

 private:
    struct State;
    explicit ComputeBench(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace ft
