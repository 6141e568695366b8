#include "cli/batch_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/line_reader.h"

namespace ft::cli {

namespace {

using nlohmann::ordered_json;

constexpr size_t k_longest_output_line = size_t{1} << 30;
constexpr std::string_view k_id_prefix = "batch_req_";

uint64_t hash_of_id(const std::string& custom_id) { return XXH3_64bits(custom_id.data(), custom_id.size()); }

std::optional<int64_t> number_of(const ordered_json& line) {
    const auto id = line.find("id");
    if (id == line.end() || !id->is_string()) return std::nullopt;
    std::string_view text = id->get_ref<const std::string&>();
    if (!text.starts_with(k_id_prefix)) return std::nullopt;
    text.remove_prefix(k_id_prefix.size());
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
    return number;
}

std::string custom_id_of(const ordered_json& line) {
    const auto id = line.find("custom_id");
    return id != line.end() && id->is_string() ? id->get<std::string>() : "";
}

}  // namespace

BatchOutput::BatchOutput(BatchOutput&& other) noexcept
    : path_(std::move(other.path_)),
      done_(std::move(other.done_)),
      n_failed_(other.n_failed_),
      whole_bytes_(other.whole_bytes_),
      fd_(std::exchange(other.fd_, -1)) {}

BatchOutput::~BatchOutput() {
    if (fd_ >= 0) ::close(fd_);
}

Error BatchOutput::failure(const char* what) const {
    return Error{Code::io, fmt::format("{}: {}: {}", printable(path_), what, std::strerror(errno)),
                 "Name a file that can be written by -o."};
}

Expected<BatchOutput> BatchOutput::inspect(const std::string& path) {
    BatchOutput output(path);
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0) {
        if (Status read = output.read_earlier(); !read) return read.error();
        if (::access(path.c_str(), W_OK) != 0) return output.failure("cannot be written");
        return output;
    }
    if (errno != ENOENT) return output.failure("cannot be written");
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (folder.empty()) folder = ".";
    if (::access(folder.c_str(), W_OK | X_OK) != 0) return output.failure("cannot be created");
    return output;
}

Status BatchOutput::read_earlier() {
    Expected<LineReader> lines = LineReader::open(path_, k_longest_output_line);
    if (!lines) return lines.error();
    std::string text;
    for (;;) {
        const Expected<LineReader::Got> got = lines->next(text);
        if (!got) return got.error();
        if (*got == LineReader::Got::end || *got == LineReader::Got::unfinished) return {};
        if (Status taken = take_line(text, lines->number()); !taken) return taken;
        whole_bytes_ = lines->offset();
    }
}

Status BatchOutput::take_line(const std::string& text, int64_t number) {
    const ordered_json line = ordered_json::parse(text, nullptr, false);
    const std::optional<int64_t> done = line.is_object() ? number_of(line) : std::nullopt;
    if (!done)
        return Error{Code::invalid,
                     fmt::format("{}: line {} is no line that batch writes, so the file is left as it is",
                                 printable(path_), number),
                     "Name another file by -o, or move this one away."};
    done_[*done] = hash_of_id(custom_id_of(line));
    n_failed_ += line.contains("error") && !line["error"].is_null();
    return {};
}

Status BatchOutput::begin() {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd_ < 0) return failure("cannot be written");
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return Error{Code::invalid, fmt::format("{}: another program writes to it", printable(path_)),
                     "Wait for it to end, or name another file by -o."};
    struct stat status{};
    if (::fstat(fd_, &status) != 0) return failure("cannot be written");
    // Loading a model takes a while: another run may have written meanwhile, and ended.
    done_.clear();
    n_failed_ = 0;
    whole_bytes_ = 0;
    if (S_ISREG(status.st_mode))
        if (Status read = read_earlier(); !read) return read;
    const bool unfinished = S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) > whole_bytes_;
    if (unfinished && ::ftruncate(fd_, static_cast<off_t>(whole_bytes_)) != 0)
        return failure("its unfinished last line cannot be cut off");
    return {};
}

Expected<bool> BatchOutput::has(int64_t number, const std::string& custom_id) const {
    const auto at = done_.find(number);
    if (at == done_.end()) return false;
    if (at->second == hash_of_id(custom_id)) return true;
    return Error{Code::invalid,
                 fmt::format("{} holds an answer to line {} with another custom_id than the input has there",
                             printable(path_), number),
                 "It belongs to another input; name another file by -o."};
}

std::string BatchOutput::id_of(int64_t number) { return fmt::format("{}{}", k_id_prefix, number); }

Status BatchOutput::append(const ordered_json& line) {
    const std::string text = line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    size_t written = 0;
    while (written < text.size()) {
        const ssize_t n = ::write(fd_, text.data() + written, text.size() - written);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return failure("cannot be written");
        written += static_cast<size_t>(n);
    }
    done_[*number_of(line)] = hash_of_id(custom_id_of(line));
    n_failed_ += !line["error"].is_null();
    return {};
}

}  // namespace ft::cli
