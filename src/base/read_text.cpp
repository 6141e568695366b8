#include "base/read_text.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/system_error.h"

namespace ft {

namespace {

constexpr size_t k_block_bytes = 64 * 1024;

class Descriptor {
 public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

 private:
    int fd_;
};

std::string limit_text(uint64_t bytes) {
    constexpr uint64_t k_mib = uint64_t{1} << 20;
    return bytes % k_mib == 0 ? fmt::format("{} MiB", bytes / k_mib) : fmt::format("{} bytes", bytes);
}

int open_text(const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

Expected<std::string> read_whole(int fd, const std::string& path, uint64_t most_bytes) {
    std::string text;
    for (;;) {
        const size_t before = text.size();
        // One byte more than is allowed tells that there is more.
        text.resize(std::min<uint64_t>(before + k_block_bytes, most_bytes + 1));
        const ssize_t got = read_waiting(fd, text.data() + before, text.size() - before);
        if (got < 0) return system_error(path, "read", errno);
        text.resize(before + static_cast<size_t>(got));
        if (got == 0) return text;
        if (text.size() > most_bytes)
            return Error{Code::too_large,
                         fmt::format("{}: more than {}, the limit", path_text(path), limit_text(most_bytes)),
                         "Check the path, or give a shorter file."};
    }
}

}  // namespace

ssize_t read_waiting(int fd, void* to, size_t bytes) {
    for (;;) {
        const ssize_t got = ::read(fd, to, bytes);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
        if (errno == EINTR) continue;
        pollfd input = {fd, POLLIN, 0};
        ::poll(&input, 1, -1);
    }
}

Expected<std::string> read_text(const std::string& path, uint64_t most_bytes) {
    const Descriptor input(open_text(path));
    if (input.get() < 0) return system_error(path, "open", errno);
    struct stat info = {};
    if (::fstat(input.get(), &info) != 0) return system_error(path, "open", errno);
    if (S_ISDIR(info.st_mode))
        return Error{Code::invalid, fmt::format("{}: this is a folder, not a file", path_text(path)),
                     "Name a file inside it."};
    auto text = read_whole(input.get(), path, most_bytes);
    if (text && text->empty() && S_ISFIFO(info.st_mode))
        return Error{Code::invalid, fmt::format("{}: a pipe that nobody writes to", path_text(path)),
                     "Start the program that writes to it first, or name a regular file."};
    return text;
}

Expected<std::string> read_kept_text(const std::string& path, uint64_t most_bytes) {
    const Descriptor input(open_text(path));
    if (input.get() < 0) return system_error(path, "open", errno);
    struct stat info = {};
    if (::fstat(input.get(), &info) != 0) return system_error(path, "open", errno);
    if (!S_ISREG(info.st_mode))
        return Error{Code::invalid, fmt::format("{}: this is no regular file", path_text(path)),
                     "Remove it first."};
    return read_whole(input.get(), path, most_bytes);
}

}  // namespace ft
