#include "hub/download.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/system_error.h"
#include "gguf/foreign.h"
#include "hub/fetcher.h"
#include "hub/sha256.h"
#include "hub/url.h"
#include "io/file.h"

namespace ft {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t k_block_bytes = k_mib;
constexpr uint64_t k_spare_bytes = 128 * k_mib;  // that stay free on the drive

uint64_t allocated_bytes(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * 512 : 0;
}

// The folder itself, or the nearest above it that is there.
fs::path existing_folder(fs::path folder) {
    std::error_code failed;
    while (!folder.empty() && folder != folder.root_path() && !fs::exists(folder, failed))
        folder = folder.parent_path();
    return folder.empty() ? fs::path(".") : folder;
}

// The files of one call, and what is told of them.
class Download {
 public:
    Download(std::span<const RemotePart> parts, const DownloadOptions& options) : options_(options) {
        for (const RemotePart& part : parts) total_ += part.bytes;
    }

    Expected<Downloaded> run(std::span<const RemotePart> parts);

 private:
    Expected<bool> is_there(const RemotePart& part);
    Expected<bool> complete(PartFile& file);
    Expected<bool> check_bytes(PartFile& file, bool& matches);
    Expected<std::vector<size_t>> changed_chunks(PartFile& file);
    Status check_magic(const PartFile& file) const;
    void tell(bool checking, uint64_t of_this_file, uint64_t fetched);
    bool stopped() const { return options_.stop && options_.stop(); }

    const DownloadOptions& options_;
    uint64_t total_ = 0;
    uint64_t earlier_ = 0;  // bytes of the files before this one
    uint64_t fetched_ = 0;  // of the files before this one
};

void Download::tell(bool checking, uint64_t of_this_file, uint64_t fetched) {
    if (options_.progress) options_.progress({checking, earlier_ + of_this_file, total_, fetched_ + fetched});
}

// Whether the file has its name already and is what the server promises; false: it is to be fetched.
Expected<bool> Download::is_there(const RemotePart& part) {
    struct stat info = {};
    if (::stat(part.path.c_str(), &info) != 0) return false;
    if (!S_ISREG(info.st_mode))
        return Error{Code::invalid, fmt::format("{}: this is no regular file", path_text(part.path)),
                     "Remove it first."};
    if (static_cast<uint64_t>(info.st_size) != part.bytes) return false;
    if (part.sha256.empty()) return true;
    const auto file = File::open(part.path);
    if (!file) return file.error();
    Sha256 digest;
    std::vector<std::byte> block(k_block_bytes);
    for (uint64_t at = 0; at < part.bytes; at += k_block_bytes) {
        if (stopped()) return false;
        const auto to = std::span(block).first(std::min(k_block_bytes, part.bytes - at));
        if (Status s = (*file)->read_at(at, to); !s) return s.error();
        digest.add(to);
        tell(true, at + to.size(), 0);
    }
    return digest.hex() == part.sha256;
}

// Reads the part once. False: options.stop said so.
Expected<bool> Download::check_bytes(PartFile& file, bool& matches) {
    const RemotePart& part = file.part();
    Sha256 digest;
    std::vector<std::byte> block(k_block_bytes);
    for (uint64_t at = 0; at < part.bytes; at += k_block_bytes) {
        if (stopped()) return false;
        const auto to = std::span(block).first(std::min(k_block_bytes, part.bytes - at));
        if (Status s = file.read(at, to); !s) return s.error();
        digest.add(to);
        tell(true, at + to.size(), 0);
    }
    matches = part.sha256.empty() || digest.hex() == part.sha256;
    return true;
}

// Chunks that are not any more what came from the server.
Expected<std::vector<size_t>> Download::changed_chunks(PartFile& file) {
    std::vector<size_t> changed;
    std::vector<std::byte> block(file.chunk_bytes());
    for (size_t chunk = 0; chunk < file.n_chunks(); chunk++) {
        const uint64_t at = chunk * file.chunk_bytes();
        const auto to = std::span(block).first(std::min(file.chunk_bytes(), file.part().bytes - at));
        if (Status s = file.read(at, to); !s) return s.error();
        if (file.digest(chunk) != XXH3_64bits(to.data(), to.size())) changed.push_back(chunk);
    }
    return changed;
}

Status Download::check_magic(const PartFile& file) const {
    std::string beginning(std::min<uint64_t>(64, file.part().bytes), '\0');
    if (Status s = file.read(0, std::as_writable_bytes(std::span(beginning))); !s) return s;
    if (beginning.starts_with("GGUF")) return {};
    return not_gguf(shown_url(file.part().url), beginning);
}

// Fetches what a part lacks and checks it. False: options.stop said so.
Expected<bool> Download::complete(PartFile& file) {
    bool matches = false;
    for (int round = 0; !matches; round++) {
        const bool all_again = !file.part().ranges && file.done_bytes() < file.part().bytes;
        const uint64_t before = all_again ? 0 : file.done_bytes();
        Fetcher fetcher(file, options_);
        const auto fetched = fetcher.run(
            [&](uint64_t bytes) { tell(false, std::min(before + bytes, file.part().bytes), bytes); });
        if (!fetched) return fetched.error();
        if (!*fetched) return false;
        fetched_ += file.part().bytes - before;
        if (Status s = check_magic(file); !s) {
            file.remove();
            return s.error();
        }
        const auto read = check_bytes(file, matches);
        if (!read) return read.error();
        if (!*read) return false;
        if (matches) break;
        // What the drive changed is fetched once more; what the server sent wrong it would send again.
        const auto changed = round == 0 ? changed_chunks(file) : std::vector<size_t>();
        if (!changed) return changed.error();
        if (changed->empty()) {
            file.remove();
            return Error{
                Code::invalid,
                fmt::format("{}: what came does not have the SHA-256 that the server promises ({})",
                            path_text(shown_url(file.part().url)), file.part().sha256),
                "Nothing of it was kept. Give the command once more; where that does not help, the file on "
                "the server is damaged."};
        }
        if (Status s = file.forget_chunks(*changed); !s) return s.error();
    }
    return true;
}

Expected<Downloaded> Download::run(std::span<const RemotePart> parts) {
    std::vector<PartFile> files;
    for (const RemotePart& part : parts) {
        const auto there = is_there(part);
        if (!there) return there.error();
        if (stopped()) return Downloaded::stopped;
        earlier_ += *there ? part.bytes : 0;
        if (*there) continue;
        auto file = PartFile::open(part, options_.chunk_bytes);
        if (!file) return file.error();
        files.push_back(std::move(*file));
    }
    for (PartFile& file : files) {
        const auto whole = complete(file);
        if (!whole) return whole.error();
        if (!*whole) return Downloaded::stopped;
        earlier_ += file.part().bytes;
    }
    for (size_t i = files.size(); i-- > 0;)
        if (Status s = files[i].commit(); !s) return s.error();
    return files.empty() ? Downloaded::before : Downloaded::now;
}

}  // namespace

Expected<RemotePart> probe(const std::string& url, const HttpToken& token, const Patience& patience) {
    HttpClient client(token);
    std::string first_byte;
    const HttpReply reply = client.get_small({.url = url, .range = ByteRange{0, 1}}, first_byte, patience);
    RemotePart part{.url = url, .path = ""};
    if (reply.whole) part.ranges = false;
    else if (reply.end != HttpEnd::done) return http_error(url, reply);
    if (!reply.total || *reply.total == 0)
        return Error{
            Code::io,
            fmt::format("{}: the server does not say how long the file is", path_text(shown_url(url))),
            "Download it by other means, and name it here."};
    part.bytes = *reply.total;
    part.etag = reply.etag;
    return part;
}

Expected<uint64_t> check_room(std::span<const RemotePart> parts) {
    uint64_t needed = 0;
    for (const RemotePart& part : parts) {
        struct stat info = {};
        const bool there =
            ::stat(part.path.c_str(), &info) == 0 && static_cast<uint64_t>(info.st_size) == part.bytes;
        if (!there) needed += part.bytes - std::min(part.bytes, allocated_bytes(part_path(part.path)));
    }
    const std::string folder = existing_folder(fs::path(parts.front().path).parent_path()).string();
    struct statvfs drive = {};
    if (::statvfs(folder.c_str(), &drive) != 0) return system_error(folder, "look at", errno);
    const uint64_t free = static_cast<uint64_t>(drive.f_bavail) * drive.f_frsize;
    if (needed > 0 && (free < k_spare_bytes || needed > free - k_spare_bytes))
        return Error{Code::too_large,
                     fmt::format("{}: the download needs {:.1f} GiB, and {:.1f} GiB are free there",
                                 path_text(folder), gib(needed), gib(free)),
                     "Free some space, or name a folder on another drive by model.store."};
    return needed;
}

Expected<Downloaded> download(std::span<const RemotePart> parts, const DownloadOptions& options) {
    return Download(parts, options).run(parts);
}

}  // namespace ft
