#include "io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/process.h"
#include "base/system_error.h"

namespace ft {

namespace {

constexpr size_t k_gather_bytes = 256 * 1024;
constexpr int k_name_attempts = 100;
constexpr int k_most_links = 40;     // as many as the system follows
constexpr int k_most_handed = 1024;  // descriptors that the program may have been started with

std::string folder_of(const std::string& path) {
    const size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

constexpr const char* k_temporary_form = ".freetoken-%d-%d.tmp%n";  // temporary_name(), to be read

// A name beside the target that no other process of this machine uses; short, because the target's may be at
// the limit.
std::string temporary_name(const std::string& target, int attempt) {
    return fmt::format("{}/.freetoken-{}-{}.tmp", folder_of(target), ::getpid(), attempt);
}

// The file that a chain of links leads to, which need not be there.
std::string follow_links(std::string path) {
    for (int i = 0; i < k_most_links; i++) {
        std::array<char, PATH_MAX> link{};
        const ssize_t n = ::readlink(path.c_str(), link.data(), link.size());
        if (n <= 0) return path;
        const std::string to(link.data(), static_cast<size_t>(n));
        path = to.front() == '/' ? to : folder_of(path) + "/" + to;
    }
    return path;
}

bool same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// A descriptor for writing that the program was started with and that leads to this file, or -1.
int handed_over(const struct stat& target) {
    for (int fd = 0; fd < k_most_handed; fd++) {
        struct stat info = {};
        if (::fstat(fd, &info) != 0 || !same(info, target)) continue;
        if ((::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY) return ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    return -1;
}

Error cannot_write(const std::string& target, int error_number) {
    Error error = system_error(target, "write", error_number);
    if (error_number == ENOENT) error.remedy = "Create its folder first.";
    if (error_number == ENXIO) error.remedy = "Nobody reads from it: start that program first.";
    return error;
}

}  // namespace

Expected<OutputFile> OutputFile::create(const std::string& target, uint32_t new_mode) {
    OutputFile file;
    file.target_ = target;
    struct stat info = {};
    file.replaces_ = ::stat(target.c_str(), &info) == 0;
    if (!file.replaces_ && errno != ENOENT) return cannot_write(target, errno);
    if (file.replaces_ && S_ISDIR(info.st_mode))
        return Error{Code::invalid, fmt::format("{}: cannot write: this is a folder", path_text(target)),
                     "Name a file inside it."};
    if (file.replaces_) file.fd_ = handed_over(info);
    file.direct_ = file.fd_ >= 0 || (file.replaces_ && !S_ISREG(info.st_mode));
    if (file.direct_) {
        if (Status s = file.open_directly(); !s) return s.error();
        return file;
    }
    if (file.replaces_ && ::access(target.c_str(), W_OK) != 0) return cannot_write(target, errno);
    file.final_ = follow_links(target);
    if (file.final_.empty() || file.final_.ends_with('/')) return cannot_write(target, ENOENT);
    if (Status s = file.create_beside(file.replaces_ ? info.st_mode & 07777 : new_mode); !s) return s.error();
    if (file.replaces_ && ::fchmod(file.fd_, info.st_mode & 07777) != 0) return cannot_write(target, errno);
    return file;
}

// Opened without waiting, because a pipe may have no reader; written to with waiting.
Status OutputFile::open_directly() {
    if (fd_ < 0) {
        fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd_ < 0) return cannot_write(target_, errno);
        if (::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_NONBLOCK) != 0)
            return cannot_write(target_, errno);
    }
    return {};
}

// A file without a name vanishes by itself even when the process is killed; not every file system has them.
Status OutputFile::create_beside(uint32_t mode) {
    fd_ = ::open(folder_of(final_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (fd_ >= 0) return {};
    for (int attempt = 0; attempt < k_name_attempts; attempt++) {
        std::string name = temporary_name(final_, attempt);
        fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd_ >= 0) {
            temporary_ = TemporaryName(std::move(name));
            return {};
        }
        if (errno != EEXIST) break;
    }
    return cannot_write(target_, errno);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : target_(std::move(other.target_)),
      final_(std::move(other.final_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      direct_(other.direct_),
      replaces_(other.replaces_),
      pending_(std::move(other.pending_)) {}

OutputFile::~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
}

Status OutputFile::write(std::span<const std::byte> bytes) {
    if (bytes.size() >= k_gather_bytes) {
        if (Status s = flush(); !s) return s;
        return write_through(bytes);
    }
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
    return pending_.size() >= k_gather_bytes ? flush() : Status();
}

Status OutputFile::flush() {
    Status s = write_through(pending_);
    if (s) pending_.clear();
    return s;
}

Status OutputFile::write_through(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return cannot_write(target_, errno);
        bytes = bytes.subspan(static_cast<size_t>(put));
    }
    return {};
}

Status OutputFile::sync() {
    if (Status s = flush(); !s) return s;
    if (::fsync(fd_) != 0) return cannot_write(target_, errno);
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return {};
}

Status OutputFile::commit() {
    OutputFile* const only = this;
    return commit_all({&only, 1});
}

// Some file systems report a write that failed only when a descriptor is closed; another one stays open.
Status OutputFile::finish_bytes() {
    check(fd_ >= 0, "commit() of an output file that is already done");
    if (Status s = flush(); !s) return s;
    const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0 && ::close(copy) != 0 && errno != EINTR) return cannot_write(target_, errno);
    return {};
}

// A file without a name can be given a new one, but only a named one can replace another.
Status OutputFile::give_name() {
    if (direct_) return {};
    const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
    for (int attempt = 0; temporary_.empty() && attempt < k_name_attempts; attempt++) {
        std::string name = temporary_name(final_, attempt);
        if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
            temporary_ = TemporaryName(std::move(name));
        else if (errno != EEXIST) return cannot_write(target_, errno);
    }
    return temporary_.empty() ? Status(cannot_write(target_, EEXIST)) : Status();
}

Status OutputFile::take_target() {
    if (!direct_) {
        if (::rename(temporary_.path(), final_.c_str()) != 0) return cannot_write(target_, errno);
        temporary_.forget();
    }
    ::close(std::exchange(fd_, -1));
    return {};
}

void OutputFile::take_back() {
    if (!direct_ && !replaces_) ::unlink(final_.c_str());
}

Status commit_all(std::span<OutputFile* const> files) {
    for (OutputFile* file : files)
        if (Status s = file->finish_bytes(); !s) return s;
    for (OutputFile* file : files)
        if (Status s = file->give_name(); !s) return s;
    for (size_t i = 0; i < files.size(); i++)
        if (Status s = files[i]->take_target(); !s) {
            for (size_t done = 0; done < i; done++) files[done]->take_back();
            return s;
        }
    return {};
}

bool is_same_file(const std::string& a, const std::string& b) {
    struct stat one = {}, other = {};
    const bool one_exists = ::stat(a.c_str(), &one) == 0, other_exists = ::stat(b.c_str(), &other) == 0;
    if (one_exists != other_exists) return false;
    if (one_exists) return S_ISREG(one.st_mode) && same(one, other);
    const std::string first = follow_links(a), second = follow_links(b);
    return name_of(first) == name_of(second) && ::stat(folder_of(first).c_str(), &one) == 0 &&
           ::stat(folder_of(second).c_str(), &other) == 0 && same(one, other);
}

Status check_takes_files(const std::string& folder) {
    const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (unnamed >= 0) {
        ::close(unnamed);
        return {};
    }
    const std::string name = temporary_name(folder + "/", 0);
    const int named = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const int why = errno;
    if (named < 0 && why != EEXIST)
        return Error{Code::io,
                     fmt::format("{}: no file can be made there: {}", path_text(folder), system_reason(why)),
                     "Name a folder that can be written to."};
    if (named >= 0) {
        ::close(named);
        ::unlink(name.c_str());
    }
    return {};
}

void remove_stale_output(const std::string& folder) {
    std::error_code failed;
    for (std::filesystem::directory_iterator file(folder, failed), end; !failed && file != end;
         file.increment(failed)) {
        const std::string name = file->path().filename().string();
        int pid = 0, attempt = 0, length = 0;
        const bool ours = std::sscanf(name.c_str(), k_temporary_form, &pid, &attempt, &length) == 2 &&
                          pid > 0 && static_cast<size_t>(length) == name.size();
        if (ours && process_is_gone(pid)) ::unlink(file->path().c_str());
    }
}

}  // namespace ft
