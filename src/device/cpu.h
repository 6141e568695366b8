// What this process may use of the machine: processors and memory, as the system, cgroups and limits say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace ft {

// Instruction sets that the processor has and the system saves the registers of.
struct CpuFeatures {
    bool avx2 = false, fma = false, f16c = false, bmi2 = false;
    bool avx512f = false, avx512bw = false, avx512vnni = false;
};
const CpuFeatures& cpu_features();

// Name as the system gives it; "" if it gives none.
std::string cpu_name();

// Cores (not hardware threads) on which this process may run, no more than a cgroup's CPU quota keeps busy;
// at least 1. `root` stands in front of /proc and /sys where the quota is read, for tests.
int physical_cores(const std::string& root = "");

struct Ram {
    uint64_t total_bytes = 0;  // of the machine, or the lowest limit of the process's cgroups
    // That can still be filled without swapping, by this process or by others: page cache counts as free.
    uint64_t available_bytes = 0;
    uint64_t address_space_bytes = UINT64_MAX;  // that a limit leaves this process alone

    // That this process can still fill.
    uint64_t fillable_bytes() const { return std::min(available_bytes, address_space_bytes); }
};
// From /proc/meminfo, cgroups (versions 1 and 2, each level of the hierarchy) and the limit on address space.
// An error where /proc/meminfo cannot be read.
Expected<Ram> read_ram(const std::string& root = "");

}  // namespace ft
