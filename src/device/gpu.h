// The cards that the system shows: from /sys, from NVIDIA's files under /proc, and from its driver library
// where that is installed. Nothing is started on a card.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ft {

struct Gpu {
    std::string name;
    std::string vendor;        // "NVIDIA", "AMD", "Intel", or the number
    std::string driver;        // "nvidia 550.54.14", "amdgpu"; "" without one
    uint64_t total_bytes = 0;  // 0: unknown
    uint64_t used_bytes = 0;
};

// `root` stands in front of /proc and /sys, for tests; with one the driver library is not asked.
std::vector<Gpu> find_gpus(const std::string& root = "");

}  // namespace ft
