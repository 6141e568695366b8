// Unaligned little-endian loads, size arithmetic that cannot wrap unseen, and rounding up.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace ft {

static_assert(std::endian::native == std::endian::little,
              "GGUF files are little-endian and are read as they are");

constexpr uint64_t k_kib = 1024;
constexpr uint64_t k_mib = 1024 * k_kib;
constexpr uint64_t k_gib = 1024 * k_mib;
constexpr double mib(uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(k_mib); }
constexpr double gib(uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(k_gib); }

// Blocks of quantised types have odd sizes, so no field of them is aligned.
template <class T>
inline T load(const void* at) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <class T>
inline void store(void* at, T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(at, &value, sizeof value);
}

// a * b and a + b, or nothing where the result does not fit 64 bits.
inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}
inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
    return sum;
}

// The next multiple of `to`, a power of two.
constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) & ~(to - 1); }

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace ft
