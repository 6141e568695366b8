#include "device/wsl.h"

#include "base/ascii.h"
#include "device/cgroup.h"

namespace ft {

bool is_wsl(const std::string& root) {
    const auto release = read_system_file(root + "/proc/sys/kernel/osrelease");
    return release && ascii_lower(*release).find("microsoft") != std::string::npos;
}

}  // namespace ft
