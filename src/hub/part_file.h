// A file that is being downloaded: FILE.part, written in chunks of any order, and FILE.part.ranges, a journal
// of the chunks that are whole, so that a download goes on after a break, also after kill -9. Nobody else
// sees the file under its own name before it is finished. Format of the journal: docs/formats/part_ranges.md.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace ft {

// What is to be fetched, and what tells this file from another of its name.
struct RemotePart {
    std::string url;
    std::string path;  // the final one
    uint64_t bytes = 0;
    std::string sha256 = {};  // "": the server promises none
    std::string etag = {};    // looked at where there is no digest
    std::string word = {};    // what `freetoken pull` was given, to go on with
    bool ranges = true;       // the server sends parts
};

std::string part_path(const std::string& path);    // of a file that is being downloaded
std::string ranges_path(const std::string& path);  // of its journal

// What a journal says, without a lock: of a download that is not finished.
struct PartState {
    std::string word;
    uint64_t bytes = 0, done = 0;
};
std::optional<PartState> read_part_state(const std::string& path);

class PartFile {
 public:
    // Creates the file's folder, opens or creates the part and locks it. What an earlier download of the same
    // content left is kept; that of another content is thrown away. An error where another process has it
    // (Code::io), or where a file cannot be written. chunk_bytes 0: chosen by the size.
    static Expected<PartFile> open(const RemotePart& part, uint64_t chunk_bytes = 0);

    PartFile(PartFile&& other) noexcept;
    PartFile& operator=(PartFile&&) = delete;
    ~PartFile();

    const RemotePart& part() const { return part_; }
    uint64_t chunk_bytes() const { return chunk_bytes_; }
    size_t n_chunks() const { return digests_.size(); }
    bool has(size_t chunk) const;
    uint64_t done_bytes() const;
    bool thrown_away() const { return thrown_away_; }  // there was a part of another content

    // Safe from several threads at once.
    Status write(uint64_t offset, std::span<const std::byte> bytes) const;
    Status finish_chunk(size_t chunk, uint64_t digest);

    Status read(uint64_t offset, std::span<std::byte> to) const;
    std::optional<uint64_t> digest(size_t chunk) const;
    Status forget_chunks(std::span<const size_t> chunks);  // they are to be fetched again

    // The drive has the bytes and the file its name; a file of that name is replaced.
    Status commit();
    // Nothing of it stays.
    void remove();

 private:
    PartFile() = default;
    Status lock();
    Status load_journal();
    Status begin_journal();
    Status append(std::string_view line);

    RemotePart part_;
    int fd_ = -1, journal_ = -1;
    uint64_t chunk_bytes_ = 0;
    bool thrown_away_ = false;
    mutable std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
    std::vector<std::optional<uint64_t>> digests_;  // by chunk; guarded by mutex_
};

}  // namespace ft
