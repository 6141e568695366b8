#include "cli/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ft::cli {

namespace {

constexpr std::string_view k_first_line = "#freetoken-history-1\n";
constexpr size_t k_longest_entry = 16 * 1024;
constexpr off_t k_most_read = 1 << 20;  // of the end of the file
constexpr off_t k_cut_above = 2 << 20;  // a file of more is cut to what was read
constexpr int k_lock_tries = 100;       // 10 ms each

// The file of a history, open and locked while this exists.
class Opened {
 public:
    explicit Opened(int fd) : fd_(fd) {}
    Opened(Opened&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Opened& operator=(Opened&&) = delete;
    ~Opened() {
        if (fd_ >= 0) close(fd_);  // the lock goes with it
    }
    int fd() const { return fd_; }

 private:
    int fd_;
};

Error cannot(const std::string& path, std::string_view why) {
    return Error{Code::io, fmt::format("the history {} is not kept: {}", path, why),
                 "Remove the file to begin a new one, or set XDG_DATA_HOME to another folder."};
}

// Waits for a lock only a moment: a chat that was stopped while it wrote must not stop the others.
void lock(int fd) {
    for (int i = 0; i < k_lock_tries && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
        usleep(10'000);
}

std::string bytes_at(int fd, off_t offset, size_t n) {
    std::string bytes(n, '\0');
    size_t done = 0;
    while (done < n) {
        const ssize_t got = pread(fd, bytes.data() + done, n - done, offset + static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<size_t>(got);
    }
    bytes.resize(done);
    return bytes;
}

// Nothing of `bytes` stays where they do not all fit.
Status write_end(const std::string& path, int fd, off_t size, std::string_view bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t put = ::write(fd, bytes.data() + done, bytes.size() - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            const int reason = errno;
            if (done > 0 && ftruncate(fd, size) != 0) return cannot(path, std::strerror(errno));
            return cannot(path, std::strerror(reason));
        }
        done += static_cast<size_t>(put);
    }
    return {};
}

// O_NONBLOCK: a FIFO of that name must not hold the chat up.
Expected<Opened> open_history(const std::string& path) {
    const int fd = open(path.c_str(),
                        O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0) return cannot(path, errno == ELOOP ? "it is a symbolic link" : std::strerror(errno));
    Opened file(fd);
    struct stat info{};
    if (fstat(fd, &info) != 0) return cannot(path, std::strerror(errno));
    if (!S_ISREG(info.st_mode)) return cannot(path, "it is no regular file");
    if (info.st_uid != geteuid()) return cannot(path, "it belongs to another user");
    if ((info.st_mode & 077) != 0 && fchmod(fd, 0600) != 0) return cannot(path, std::strerror(errno));
    lock(fd);
    if (fstat(fd, &info) != 0) return cannot(path, std::strerror(errno));
    if (info.st_size == 0) {
        if (Status s = write_end(path, fd, 0, k_first_line); !s) return s.error();
    } else if (bytes_at(fd, 0, k_first_line.size()) != k_first_line) {
        return cannot(path, "it is a file of another kind");
    }
    return file;
}

std::string escaped_entry(std::string_view entry) {
    std::string out;
    for (const char c : entry) {
        if (c == '\\') out += "\\\\";
        else if (c == '\n') out += "\\n";
        else out += c;
    }
    return out;
}

std::string unescaped(std::string_view line) {
    std::string out;
    for (size_t i = 0; i < line.size(); i++) {
        const bool pair = line[i] == '\\' && i + 1 < line.size();
        if (pair) i++;
        out += pair && line[i] == 'n' ? '\n' : line[i];
    }
    return out;
}

std::vector<std::string> entries_of(std::string_view text) {
    std::vector<std::string> entries;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        if (!line.empty() && line.size() <= 2 * k_longest_entry && line.find('\0') == std::string_view::npos)
            entries.push_back(unescaped(line));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (entries.size() > k_history_entries)
        entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(k_history_entries));
    return entries;
}

// Beside it and then by its name, so that a full drive costs nothing. Where that fails, the file stays long.
void cut(const std::string& path, const std::vector<std::string>& entries) {
    std::string text(k_first_line);
    for (const std::string& entry : entries) text += escaped_entry(entry) + "\n";
    const std::string beside = path + ".new";
    const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return;
    const bool whole = static_cast<bool>(write_end(path, fd, 0, text)) && fsync(fd) == 0;
    close(fd);
    if (!whole || std::rename(beside.c_str(), path.c_str()) != 0) unlink(beside.c_str());
}

}  // namespace

Expected<std::vector<std::string>> HistoryFile::read() {
    if (path_.empty()) return std::vector<std::string>();
    const Expected<Opened> file = open_history(path_);
    if (!file) return file.error();
    const off_t size = lseek(file->fd(), 0, SEEK_END), first = static_cast<off_t>(k_first_line.size());
    const off_t from = std::max(first, size - k_most_read);
    std::string text = bytes_at(file->fd(), from, static_cast<size_t>(std::max<off_t>(0, size - from)));
    if (from > first) text.erase(0, std::min(text.find('\n'), text.size()));  // the middle of an entry
    std::vector<std::string> entries = entries_of(text);
    if (size > k_cut_above) cut(path_, entries);
    return entries;
}

Status HistoryFile::append(std::string_view entry) {
    if (path_.empty() || entry.size() > k_longest_entry) return {};
    const Expected<Opened> file = open_history(path_);
    if (!file) return file.error();
    const off_t size = lseek(file->fd(), 0, SEEK_END);
    std::string line = escaped_entry(entry) + "\n";
    if (size > 0 && bytes_at(file->fd(), size - 1, 1) != "\n") line.insert(0, 1, '\n');  // after a cut write
    return write_end(path_, file->fd(), size, line);
}

}  // namespace ft::cli
