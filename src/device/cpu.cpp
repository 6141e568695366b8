#include "device/cpu.h"

#include <hwloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/bytes.h"
#include "device/cgroup.h"

namespace ft {
namespace {

struct FreeTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

// Cores of which this process may use at least one hardware thread; 0 where they cannot be found out.
int cores_in_affinity() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return 0;
    const Topology topology(raw);
    if (hwloc_topology_load(raw) != 0) return 0;
    const Bitmap mine(hwloc_bitmap_alloc());
    if (!mine || hwloc_get_cpubind(raw, mine.get(), HWLOC_CPUBIND_PROCESS) != 0) return 0;
    int n = 0;
    for (hwloc_obj_t core = nullptr;
         (core = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, core)) != nullptr;)
        n += hwloc_bitmap_intersects(core->cpuset, mine.get());
    return n;
}

int hardware_threads_in_affinity() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return std::max(1, CPU_COUNT(&set));
}

// Address space left under RLIMIT_AS; no limit: all of it.
uint64_t address_space_left(const std::string& root) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    const auto statm = read_system_file(root + "/proc/self/statm");  // in pages; the first is the size
    const uint64_t pages = statm ? std::strtoull(statm->c_str(), nullptr, 10) : 0;
    const uint64_t used = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

}  // namespace

const CpuFeatures& cpu_features() {
    static const CpuFeatures features = {
        .avx2 = __builtin_cpu_supports("avx2") != 0,
        .fma = __builtin_cpu_supports("fma") != 0,
        .f16c = __builtin_cpu_supports("f16c") != 0,
        .bmi2 = __builtin_cpu_supports("bmi2") != 0,
        .avx512f = __builtin_cpu_supports("avx512f") != 0,
        .avx512bw = __builtin_cpu_supports("avx512bw") != 0,
        .avx512vnni = __builtin_cpu_supports("avx512vnni") != 0,
    };
    return features;
}

std::string cpu_name() {
    const std::string text = read_system_file("/proc/cpuinfo").value_or("");
    const size_t line = text.find("model name");
    const size_t colon = line == std::string::npos ? line : text.find(": ", line);
    if (colon == std::string::npos) return "";
    return text.substr(colon + 2, text.find('\n', colon) - colon - 2);
}

int physical_cores(const std::string& root) {
    int n = cores_in_affinity();
    if (n <= 0) n = hardware_threads_in_affinity();
    if (const auto quota = cgroup_cpu_quota(root)) n = std::min(n, static_cast<int>(std::ceil(*quota)));
    return std::max(1, n);
}

Expected<Ram> read_ram(const std::string& root) {
    const std::string path = root + "/proc/meminfo";
    const auto text = read_system_file(path);
    const auto total = text ? number_after(*text, "MemTotal:") : std::nullopt;
    const auto available = text ? number_after(*text, "MemAvailable:") : std::nullopt;
    if (!total || !available)
        return Error{Code::io, fmt::format("{}: no MemTotal and MemAvailable", path), "Mount /proc"};
    Ram ram{*total * k_kib, *available * k_kib};
    for (const MemoryLimit& limit : cgroup_memory_limits(root)) {
        ram.total_bytes = std::min(ram.total_bytes, limit.limit_bytes);
        ram.available_bytes =
            std::min(ram.available_bytes,
                     limit.limit_bytes > limit.used_bytes ? limit.limit_bytes - limit.used_bytes : 0);
    }
    ram.address_space_bytes = address_space_left(root);
    return ram;
}

}  // namespace ft
