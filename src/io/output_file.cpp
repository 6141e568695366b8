#include "io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "io/file.h"

namespace ft {

namespace {

constexpr size_t k_gather_bytes = 256 * 1024;
constexpr int k_name_attempts = 100;

std::string folder_of(const std::string& path) {
    const size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

// A name beside the target that no other process of this machine uses; short, because the target's may be at
// the limit.
std::string temporary_name(const std::string& target, int attempt) {
    return fmt::format("{}/.freetoken-{}-{}.tmp", folder_of(target), ::getpid(), attempt);
}

// The file that a chain of links leads to, or the path itself where there is none yet.
std::string follow_links(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
    return real ? std::string(real.get()) : path;
}

Error cannot_write(const std::string& target, int error_number) {
    Error error = system_error(target, "write", error_number);
    if (error_number == ENOENT) error.remedy = "Create its folder first.";
    if (error_number == ENOSPC) error.remedy = "Free some space, or name another place.";
    return error;
}

}  // namespace

Expected<OutputFile> OutputFile::create(const std::string& target) {
    OutputFile file;
    file.target_ = target;
    struct stat info = {};
    const bool exists = ::stat(target.c_str(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return Error{Code::invalid, fmt::format("{}: cannot write: this is a folder", path_text(target)),
                     "Name a file inside it."};
    // What /dev names (/dev/stdout too, which may be a file) belongs to somebody who waits for it under that
    // name.
    file.direct_ = (exists && !S_ISREG(info.st_mode)) || target.starts_with("/dev/");
    if (file.direct_) {
        file.fd_ = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (file.fd_ < 0) return cannot_write(target, errno);
        return file;
    }
    if (exists && ::access(target.c_str(), W_OK) != 0) return cannot_write(target, errno);
    if (target.empty() || target.ends_with('/')) return cannot_write(target, ENOENT);
    file.final_ = follow_links(target);
    if (Status s = file.create_beside(exists ? info.st_mode & 07777 : 0666); !s) return s.error();
    if (exists && ::fchmod(file.fd_, info.st_mode & 07777) != 0) return cannot_write(target, errno);
    return file;
}

// A file without a name vanishes by itself even when the process is killed; not every file system has them.
Status OutputFile::create_beside(uint32_t mode) {
    fd_ = ::open(folder_of(final_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (fd_ >= 0) return {};
    for (int attempt = 0; attempt < k_name_attempts; attempt++) {
        std::string name = temporary_name(final_, attempt);
        fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd_ >= 0) {
            temporary_ = std::move(name);
            return {};
        }
        if (errno != EEXIST) break;
    }
    return cannot_write(target_, errno);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : target_(std::move(other.target_)),
      final_(std::move(other.final_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      direct_(other.direct_),
      pending_(std::move(other.pending_)) {}

OutputFile::~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    return pending_.size() >= k_gather_bytes ? flush() : Status();
}

Status OutputFile::flush() {
    size_t done = 0;
    while (done < pending_.size()) {
        const ssize_t put = ::write(fd_, pending_.data() + done, pending_.size() - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return cannot_write(target_, errno);
        done += static_cast<size_t>(put);
    }
    pending_.clear();
    return {};
}

Status OutputFile::commit() {
    check(fd_ >= 0, "commit() of an output file that is already done");
    if (Status s = flush(); !s) return s.error();
    if (!direct_) {
        if (Status s = take_name(); !s) return s.error();
    }
    // Some file systems report a write that failed only now.
    if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) return cannot_write(target_, errno);
    return {};
}

Status OutputFile::take_name() {
    // A file without a name can be given a new one, but only a named one can replace another.
    const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
    for (int attempt = 0; temporary_.empty() && attempt < k_name_attempts; attempt++) {
        std::string name = temporary_name(final_, attempt);
        if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
            temporary_ = std::move(name);
        else if (errno != EEXIST) return cannot_write(target_, errno);
    }
    if (temporary_.empty()) return cannot_write(target_, EEXIST);
    if (::rename(temporary_.c_str(), final_.c_str()) != 0) return cannot_write(target_, errno);
    temporary_.clear();
    return {};
}

}  // namespace ft
