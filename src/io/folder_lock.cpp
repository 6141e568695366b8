#include "io/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ft {

FolderLock::FolderLock(const std::string& folder)
    : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock::~FolderLock() {
    if (fd_ >= 0) ::close(fd_);  // the lock goes with it
}

std::optional<FolderLock> FolderLock::share(const std::string& folder) {
    FolderLock lock(folder);
    if (::flock(lock.fd_, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
    return lock;
}

FolderLock FolderLock::take(const std::string& folder, const std::function<void()>& waiting) {
    FolderLock lock(folder);
    if (::flock(lock.fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;
    waiting();
    while (::flock(lock.fd_, LOCK_EX) != 0 && errno == EINTR) continue;
    return lock;
}

}  // namespace ft
