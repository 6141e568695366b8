// Random numbers without a state: each is a function of what it is for, so that a token's draw does not
// depend on which other sequences run, in what order, or on a pause between.
#pragma once

#include <cstdint>

namespace ft {

// A bijection of 64 bits whose output bits each depend on every input bit (the finaliser of SplitMix64;
// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
constexpr uint64_t mix_bits(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

// Uniform in [0, 1), 53 bits. choice: which of several answers to one prompt; position: the token's in its
// sequence.
constexpr double random_unit(uint64_t seed, uint64_t choice, uint64_t position) {
    constexpr uint64_t k_golden = 0x9E3779B97F4A7C15ULL;  // steps between the streams
    const uint64_t key = mix_bits(mix_bits(seed + k_golden) ^ mix_bits(3 * choice + 2 * k_golden));
    return static_cast<double>(mix_bits(key + (position + 1) * k_golden) >> 11) * 0x1p-53;
}

}  // namespace ft
