// How likely each expert is to be used next: what `lfu` values it by.
//
// An expert's rate of use is a count that decays, in uses per unit of time (a token, tiers/policy.h). Three
// are kept, with a short, a middle and a long half-life: topics that change want a short memory, experts that
// stay popular a long one. The forecast is their weighted mean, and the weights are learned from the routes
// (expectation maximisation for a mixture, one step for each use): each use is credited to the rates by how
// much of it each foretold, old credit decays, and the weights are the shares of the credit. They are the
// same for all experts. Or one half-life alone; then nothing is learned.
//
// Cost: O(1) for a use and for a value. Nothing is allocated after construction, nothing can fail. Owner: one
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ft {

class UseForecast {
 public:
    // half_life: the middle one (or the only one), as half_life_for() says it for the size of the cache.
    UseForecast(size_t n_experts, double half_life, bool learns);

    // A token at `time`, from 0 on, uses the expert. Times may go back to a token of the same step. Returns
    // whether values of other experts changed as well.
    bool used(size_t expert, int64_t time);

    // Comparable between experts as long as used() returned false since.
    double value(size_t expert) const {
        double sum = 0;
        for (size_t i = 0; i < n_; ++i) sum += factor_[i] * heat_[expert][i];
        return sum;
    }

 private:
    static constexpr size_t k_memories = 3;
    using PerMemory = std::array<double, k_memories>;

    bool advance(int64_t time);
    void set_token(int64_t time);
    bool rescale();
    void weigh();
    double rate_factor(size_t i, int64_t time) const;

    size_t n_;  // memories in use
    PerMemory half_life_;
    std::array<int64_t, k_memories> origin_{};
    // [n_experts] sum over uses of 2^((time - origin) / half_life): counts in units that grow, so that
    // nothing needs to be done as they decay
    std::vector<PerMemory> heat_;
    PerMemory weight_, credit_{};
    PerMemory factor_{};                // from heat to a share of the value, now
    PerMemory unit_{}, rate_before_{};  // of a use at token_, and from heat to the rate before it
    int64_t token_ = -1, now_ = 0;
    double n_uses_ = 0;
};

}  // namespace ft
