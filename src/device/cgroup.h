// Limits that control groups set on this process, versions 1 and 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ft {

// Memory limit of one group on the way from the process's own to the root.
struct MemoryLimit {
    uint64_t limit_bytes;
    uint64_t used_bytes;  // without page cache, which the system takes back
};

// Groups that set no limit are left out. `root` stands in front of /proc and /sys.
std::vector<MemoryLimit> cgroup_memory_limits(const std::string& root);

// Processors that the strictest quota keeps busy (1.5: one and a half); nothing where no group sets one.
std::optional<double> cgroup_cpu_quota(const std::string& root);

// Content of a small file of the kernel; nothing where it cannot be read.
std::optional<std::string> read_system_file(const std::string& path);

// The number behind `key` in lines of "key   number ..."; nothing where there is none.
std::optional<uint64_t> number_after(const std::string& text, const std::string& key);

}  // namespace ft
