#include "device/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace ft {
namespace {

// Where version 2 says "max", version 1 has a number near 2^63.
constexpr uint64_t k_no_limit = uint64_t{1} << 60;

std::optional<int64_t> number(const std::string& text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    return value;
}

std::optional<int64_t> number_in(const std::string& path) {
    const auto text = read_system_file(path);
    return text ? number(*text) : std::nullopt;
}

struct Hierarchy {
    int version;
    std::vector<std::string> folders;  // the process's own group first, the root last
};

void add_folders(const std::string& mount, std::string group, Hierarchy& hierarchy) {
    // Inside a container the path may be the host's, with only its tail mounted: folders that are not there
    // read as no limit.
    while (true) {
        hierarchy.folders.push_back(mount + (group == "/" ? "" : group));
        if (group.empty() || group == "/") return;
        group.erase(group.rfind('/'));
    }
}

// The groups that control `controller` for this process. /proc/self/cgroup has lines "id:controllers:path",
// with no controllers for version 2.
std::vector<Hierarchy> hierarchies(const std::string& root, const std::string& controller) {
    std::vector<Hierarchy> found;
    std::istringstream lines(read_system_file(root + "/proc/self/cgroup").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        const size_t first = line.find(':');
        const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const std::string group = line.substr(second + 1);
        if (controllers == ",,") {
            Hierarchy hierarchy{2, {}};
            add_folders(root + "/sys/fs/cgroup", group, hierarchy);
            add_folders(root + "/sys/fs/cgroup/unified", group, hierarchy);
            found.push_back(std::move(hierarchy));
        } else if (controllers.find("," + controller + ",") != std::string::npos) {
            Hierarchy hierarchy{1, {}};
            add_folders(root + "/sys/fs/cgroup/" + controller, group, hierarchy);
            found.push_back(std::move(hierarchy));
        }
    }
    return found;
}

std::optional<MemoryLimit> memory_limit(const std::string& folder, int version) {
    const auto limit = number_in(folder + (version == 2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (!limit || *limit < 0 || static_cast<uint64_t>(*limit) >= k_no_limit) return std::nullopt;
    const auto used = number_in(folder + (version == 2 ? "/memory.current" : "/memory.usage_in_bytes"));
    const std::string stat = read_system_file(folder + "/memory.stat").value_or("");
    const std::string prefix = version == 2 ? "" : "total_";
    const uint64_t cache = number_after(stat, prefix + "inactive_file").value_or(0) +
                           number_after(stat, prefix + "active_file").value_or(0);
    const uint64_t all = used && *used > 0 ? static_cast<uint64_t>(*used) : 0;
    return MemoryLimit{static_cast<uint64_t>(*limit), all > cache ? all - cache : 0};
}

std::optional<double> cpu_quota(const std::string& folder, int version) {
    std::optional<int64_t> quota, period;
    if (version == 2) {
        const std::string text =
            read_system_file(folder + "/cpu.max").value_or("");  // "max 100000" or "150000 100000"
        const size_t space = text.find(' ');
        if (space == std::string::npos) return std::nullopt;
        quota = number(text);
        period = number(text.substr(space + 1));
    } else {
        quota = number_in(folder + "/cpu.cfs_quota_us");
        period = number_in(folder + "/cpu.cfs_period_us");
    }
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::optional<std::string> read_system_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::optional<uint64_t> number_after(const std::string& text, const std::string& key) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        uint64_t value = 0;
        if (words >> name >> value && name == key) return value;
    }
    return std::nullopt;
}

std::vector<MemoryLimit> cgroup_memory_limits(const std::string& root) {
    std::vector<MemoryLimit> limits;
    for (const Hierarchy& hierarchy : hierarchies(root, "memory"))
        for (const std::string& folder : hierarchy.folders)
            if (const auto limit = memory_limit(folder, hierarchy.version)) limits.push_back(*limit);
    return limits;
}

std::optional<double> cgroup_cpu_quota(const std::string& root) {
    std::optional<double> least;
    for (const Hierarchy& hierarchy : hierarchies(root, "cpu"))
        for (const std::string& folder : hierarchy.folders)
            if (const auto quota = cpu_quota(folder, hierarchy.version))
                least = std::min(least.value_or(*quota), *quota);
    return least;
}

}  // namespace ft
