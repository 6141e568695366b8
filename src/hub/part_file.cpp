#include "hub/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/parse_number.h"
#include "base/read_text.h"
#include "base/system_error.h"

namespace ft {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_journal_magic = "freetoken-part-1 ";
constexpr uint64_t k_least_chunk = 4 * k_mib;
constexpr uint64_t k_most_chunks = 65536;
constexpr uint64_t k_most_journal_bytes = 16 * k_mib;
constexpr int k_lock_tries = 20;  // a part may be finished between opening and locking it

uint64_t chosen_chunk(uint64_t bytes) {
    return std::max(k_least_chunk, round_up((bytes + k_most_chunks - 1) / k_most_chunks, k_mib));
}

// The first line, which has to be the same for a download to go on.
std::string journal_head(const RemotePart& part, uint64_t chunk_bytes) {
    nlohmann::ordered_json head = {{"bytes", part.bytes}, {"chunk", chunk_bytes}, {"sha256", part.sha256}};
    if (part.sha256.empty()) head["etag"] = part.etag;
    head["word"] = part.word;
    return fmt::format("{}{}\n", k_journal_magic,
                       head.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace));
}

struct JournalLine {
    size_t chunk = 0;
    std::optional<uint64_t> digest;
};

// "INDEX HASH", or "INDEX -" of a chunk that has to be fetched again.
std::optional<JournalLine> parse_journal_line(std::string_view line) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    const auto chunk = parse_number<size_t>(line.substr(0, blank));
    const std::string_view text = line.substr(blank + 1);
    if (!chunk) return std::nullopt;
    if (text == "-") return JournalLine{*chunk, std::nullopt};
    uint64_t digest = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return JournalLine{*chunk, digest};
}

struct Journal {
    nlohmann::json head;
    std::vector<JournalLine> lines;
    uint64_t length = 0;  // of its whole lines
};

// What of it is whole and makes sense; a last line that was not written to its end is left out.
std::optional<Journal> parse_journal(std::string_view text) {
    Journal journal;
    const size_t first = text.find('\n');
    if (first == std::string_view::npos || !text.starts_with(k_journal_magic)) return std::nullopt;
    const std::string_view head = text.substr(k_journal_magic.size(), first - k_journal_magic.size());
    journal.head = nlohmann::json::parse(head, nullptr, false);
    if (!journal.head.is_object()) return std::nullopt;
    journal.length = first + 1;
    for (size_t end = 0; (end = text.find('\n', journal.length)) != std::string_view::npos;) {
        const auto line = parse_journal_line(text.substr(journal.length, end - journal.length));
        if (!line) break;
        journal.lines.push_back(*line);
        journal.length = end + 1;
    }
    return journal;
}

uint64_t head_number(const nlohmann::json& head, const char* name) {
    const auto at = head.find(name);
    return at != head.end() && at->is_number_unsigned() ? at->get<uint64_t>() : 0;
}

std::string head_text(const nlohmann::json& head, const char* name) {
    const auto at = head.find(name);
    return at != head.end() && at->is_string() ? at->get<std::string>() : "";
}

Status write_fully(int fd, const std::string& path, std::string_view text) {
    while (!text.empty()) {
        const ssize_t put = ::write(fd, text.data(), text.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return system_error(path, "write", errno);
        text.remove_prefix(static_cast<size_t>(put));
    }
    return {};
}

// Opens or creates it; links, folders, pipes and devices in its place are refused.
Expected<int> open_regular(const std::string& path, int flags) {
    const int fd = ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    const int error_number = errno;
    struct stat info = {};
    const bool there = fd >= 0 ? ::fstat(fd, &info) == 0 : ::lstat(path.c_str(), &info) == 0;
    if (fd >= 0 && there && S_ISREG(info.st_mode)) return fd;
    if (fd >= 0) ::close(fd);
    if (!there || S_ISREG(info.st_mode)) return system_error(path, "open", error_number);
    return Error{Code::invalid,
                 fmt::format("{}: this is {}", path_text(path),
                             S_ISLNK(info.st_mode) ? "a link, not a file" : "no regular file"),
                 "Remove it, and give the command again."};
}

std::string parent_of(const std::string& path) { return fs::path(path).parent_path().string(); }

}  // namespace

std::string part_path(const std::string& path) { return path + ".part"; }
std::string ranges_path(const std::string& path) { return path + ".part.ranges"; }

std::optional<PartState> read_part_state(const std::string& path) {
    const auto text = read_kept_text(ranges_path(path), k_most_journal_bytes);
    if (!text) return std::nullopt;
    const auto journal = parse_journal(*text);
    if (!journal) return std::nullopt;
    const uint64_t bytes = head_number(journal->head, "bytes"), chunk = head_number(journal->head, "chunk");
    PartState state{head_text(journal->head, "word"), bytes, 0};
    if (chunk == 0) return state;
    std::vector<bool> done(std::min<uint64_t>(k_most_chunks * 2, bytes / chunk + 1));
    for (const JournalLine& line : journal->lines)
        if (line.chunk < done.size()) done[line.chunk] = line.digest.has_value();
    state.done =
        std::min<uint64_t>(bytes, chunk * static_cast<uint64_t>(std::count(done.begin(), done.end(), true)));
    return state;
}

Expected<PartFile> PartFile::open(const RemotePart& part, uint64_t chunk_bytes) {
    check(part.bytes > 0, "a download of no bytes");
    PartFile file;
    file.part_ = part;
    file.chunk_bytes_ = chunk_bytes > 0 ? chunk_bytes : chosen_chunk(part.bytes);
    file.digests_.resize((part.bytes + file.chunk_bytes_ - 1) / file.chunk_bytes_);
    std::error_code failed;
    fs::create_directories(parent_of(part.path), failed);
    if (failed) return system_error(parent_of(part.path), "create", failed.value());
    if (Status s = file.lock(); !s) return s.error();
    if (Status s = file.load_journal(); !s) return s.error();
    return file;
}

// A part that took its final name, or was removed, between opening and locking is not the one of this name.
Status PartFile::lock() {
    const std::string path = part_path(part_.path);
    for (int attempt = 0; attempt < k_lock_tries; attempt++) {
        auto fd = open_regular(path, O_RDWR);
        if (!fd) return fd.error();
        fd_ = *fd;
        struct stat opened = {}, named = {};
        if (::fstat(fd_, &opened) != 0) return system_error(path, "open", errno);
        if (::flock(fd_, LOCK_EX | LOCK_NB) != 0)
            return Error{Code::io,
                         fmt::format("{}: another freetoken is downloading this file", path_text(path)),
                         "Wait until it is done, or end it; what it fetched stays."};
        const bool same = ::stat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino &&
                          named.st_dev == opened.st_dev;
        if (same) return {};
        ::close(std::exchange(fd_, -1));
    }
    return Error{Code::io, fmt::format("{}: the file is replaced all the time", path_text(path)),
                 "Try again."};
}

Status PartFile::load_journal() {
    const std::string path = ranges_path(part_.path);
    auto fd = open_regular(path, O_RDWR | O_APPEND);
    if (!fd) return fd.error();
    journal_ = *fd;
    const auto text = read_kept_text(path, k_most_journal_bytes);
    const auto journal = text ? parse_journal(*text) : std::nullopt;
    const bool goes_on = journal && head_number(journal->head, "bytes") == part_.bytes &&
                         head_number(journal->head, "chunk") == chunk_bytes_ &&
                         head_text(journal->head, "sha256") == part_.sha256 &&
                         (!part_.sha256.empty() || head_text(journal->head, "etag") == part_.etag);
    if (!goes_on) {
        struct stat info = {};
        thrown_away_ = ::fstat(fd_, &info) == 0 && info.st_blocks > 0;
        return begin_journal();
    }
    if (::ftruncate(journal_, static_cast<off_t>(journal->length)) != 0)
        return system_error(path, "write", errno);
    for (const JournalLine& line : journal->lines)
        if (line.chunk < digests_.size()) digests_[line.chunk] = line.digest;
    struct stat info = {};
    if (::fstat(fd_, &info) != 0 || static_cast<uint64_t>(info.st_size) != part_.bytes)
        return begin_journal();
    return {};
}

// The part anew: its full length at once, so that a full drive is noticed before the download.
Status PartFile::begin_journal() {
    const std::string path = part_path(part_.path);
    std::fill(digests_.begin(), digests_.end(), std::nullopt);
    if (::ftruncate(journal_, 0) != 0) return system_error(ranges_path(part_.path), "write", errno);
    if (::ftruncate(fd_, 0) != 0 || ::ftruncate(fd_, static_cast<off_t>(part_.bytes)) != 0)
        return system_error(path, "write", errno);
    if (::fallocate(fd_, 0, 0, static_cast<off_t>(part_.bytes)) != 0 && errno != EOPNOTSUPP &&
        errno != ENOSYS && errno != EINTR) {
        const int reason = errno;
        remove();
        return system_error(path, "write", reason);
    }
    return append(journal_head(part_, chunk_bytes_));
}

PartFile::PartFile(PartFile&& other) noexcept
    : part_(std::move(other.part_)),
      fd_(std::exchange(other.fd_, -1)),
      journal_(std::exchange(other.journal_, -1)),
      chunk_bytes_(other.chunk_bytes_),
      thrown_away_(other.thrown_away_),
      mutex_(std::move(other.mutex_)),
      digests_(std::move(other.digests_)) {}

// The lock goes with the descriptor.
PartFile::~PartFile() {
    if (fd_ >= 0) ::close(fd_);
    if (journal_ >= 0) ::close(journal_);
}

bool PartFile::has(size_t chunk) const { return digest(chunk).has_value(); }

std::optional<uint64_t> PartFile::digest(size_t chunk) const {
    const std::lock_guard lock(*mutex_);
    return digests_[chunk];
}

uint64_t PartFile::done_bytes() const {
    const std::lock_guard lock(*mutex_);
    uint64_t sum = 0;
    for (size_t i = 0; i < digests_.size(); i++)
        if (digests_[i]) sum += std::min(chunk_bytes_, part_.bytes - i * chunk_bytes_);
    return sum;
}

Status PartFile::write(uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return system_error(part_path(part_.path), "write", errno);
        bytes = bytes.subspan(static_cast<size_t>(put));
        offset += static_cast<uint64_t>(put);
    }
    return {};
}

Status PartFile::read(uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
        const ssize_t got = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(part_path(part_.path), "read", errno);
        if (got == 0)
            return Error{
                Code::truncated,
                fmt::format("{}: the file was cut while it was downloaded", path_text(part_path(part_.path))),
                "Give the same command again."};
        to = to.subspan(static_cast<size_t>(got));
        offset += static_cast<uint64_t>(got);
    }
    return {};
}

Status PartFile::append(std::string_view line) {
    return write_fully(journal_, ranges_path(part_.path), line);
}

Status PartFile::finish_chunk(size_t chunk, uint64_t digest) {
    const std::lock_guard lock(*mutex_);
    digests_[chunk] = digest;
    return append(fmt::format("{} {:016x}\n", chunk, digest));
}

Status PartFile::forget_chunks(std::span<const size_t> chunks) {
    const std::lock_guard lock(*mutex_);
    for (const size_t chunk : chunks) {
        digests_[chunk].reset();
        if (Status s = append(fmt::format("{} -\n", chunk)); !s) return s;
    }
    return {};
}

Status PartFile::commit() {
    const std::string path = part_path(part_.path);
    if (::fsync(fd_) != 0) return system_error(path, "write", errno);
    if (::rename(path.c_str(), part_.path.c_str()) != 0) return system_error(part_.path, "create", errno);
    ::unlink(ranges_path(part_.path).c_str());
    const int folder = ::open(parent_of(part_.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        ::fsync(folder);  // not every file system can; the name then comes with its next write
        ::close(folder);
    }
    return {};
}

void PartFile::remove() {
    ::unlink(part_path(part_.path).c_str());
    ::unlink(ranges_path(part_.path).c_str());
}

}  // namespace ft
