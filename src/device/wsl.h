// Whether this is Linux under Windows (WSL2): memory that may be pinned is limited there, and folders of
// Windows are slow.
#pragma once

#include <string>

namespace ft {

// `root` stands in front of /proc, for tests.
bool is_wsl(const std::string& root = "");

}  // namespace ft
