#include "device/ram_speed.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory_map.h"

namespace ft {

namespace {

constexpr uint64_t k_buffer = 256 * k_mib;
constexpr uint64_t k_step = k_mib;  // between looks at the clock
constexpr int k_most_threads = 64;

// Four sums at once, so that no addition waits for the last one.
uint64_t sum_of(const uint64_t* at, uint64_t n) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (uint64_t i = 0; i + 4 <= n; i += 4) {
        a += at[i];
        b += at[i + 1];
        c += at[i + 2];
        d += at[i + 3];
    }
    return a ^ b ^ c ^ d;
}

}  // namespace

double measure_ram_read(int threads, double seconds) {
    auto memory = MemoryMap::reserve(k_buffer, true);
    if (!memory) return 0;
    const auto n_thread = static_cast<uint64_t>(std::clamp(threads, 1, k_most_threads));
    const uint64_t part = k_buffer / n_thread / 4096 * 4096;
    std::atomic<uint64_t> bytes{0}, kept{0};
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    Seconds start{};
    const auto work = [&](uint64_t number) {
        std::byte* mine = memory->data() + number * part;
        std::fill(mine, mine + part, std::byte{1});
        ready++;
        while (!go) std::this_thread::yield();
        uint64_t at = 0;
        do {
            kept ^= sum_of(reinterpret_cast<const uint64_t*>(mine + at), k_step / sizeof(uint64_t));
            bytes += k_step;
            at = at + 2 * k_step > part ? 0 : at + k_step;
        } while (now_seconds() - start < seconds);
    };
    std::vector<std::jthread> others;
    try {
        for (uint64_t i = 0; i < n_thread; i++) others.emplace_back(work, i);
    } catch (const std::system_error&) {
        // fewer threads read what this limit on threads allows
    }
    while (ready < static_cast<int>(others.size())) std::this_thread::yield();
    start = now_seconds();
    go = true;
    others.clear();
    return static_cast<double>(bytes) / std::max(1e-9, now_seconds() - start) / 1e9;
}

}  // namespace ft
