#include "device/wsl.h"

#include <algorithm>
#include <cctype>

#include "device/cgroup.h"

namespace ft {

bool is_wsl(const std::string& root) {
    std::string release = read_system_file(root + "/proc/sys/kernel/osrelease").value_or("");
    std::transform(release.begin(), release.end(), release.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return release.find("microsoft") != std::string::npos;
}

}  // namespace ft
