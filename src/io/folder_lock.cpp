#include "io/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace ft {

namespace {

// Not one call that waits: some tools that watch threads hold a signal back until a call they know.
constexpr std::chrono::milliseconds k_look_again{20};

}  // namespace

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
    const auto is_kept_out = [&] {
        return ::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR);
    };
    if (!is_kept_out()) return lock;
    waiting();
    while (is_kept_out()) std::this_thread::sleep_for(k_look_again);
    return lock;
}

}  // namespace ft
