#include "cli/runtime_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/system_error.h"

namespace ft::cli {

namespace {

Error not_own(const std::string& folder) {
    return Error{Code::invalid, fmt::format("{}: this is no folder of yours", path_text(folder)),
                 "Remove it, or set XDG_RUNTIME_DIR to a folder of your own."};
}

}  // namespace

std::string runtime_folder() {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && *runtime == '/') return std::string(runtime) + "/freetoken";
    return fmt::format("/tmp/freetoken-{}", ::getuid());
}

Expected<bool> has_own_folder(const std::string& folder) {
    struct stat info = {};
    if (::lstat(folder.c_str(), &info) != 0) return false;
    if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid()) return true;
    return not_own(folder);
}

Status make_own_folder(const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), failed);
    if (failed) return system_error(folder, "create", failed.value());
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return system_error(folder, "create", errno);
    // By the descriptor: what has the name may change between the look and the change of rights.
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info = {};
    if (fd < 0) {
        const int reason = errno;
        const Expected<bool> good = has_own_folder(folder);
        return good ? system_error(folder, "open", reason) : good.error();
    }
    const bool own = ::fstat(fd, &info) == 0 && info.st_uid == ::geteuid();
    if (own) ::fchmod(fd, 0700);
    ::close(fd);
    if (own) return {};
    return not_own(folder);
}

}  // namespace ft::cli
