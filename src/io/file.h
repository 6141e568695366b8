// A file opened for reading. The loader and the GGUF reader see only this interface, so that a test can hand
// them a file that is slow, short or failing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "base/system_error.h"

namespace ft {

// What tells two files apart that had the same name at two times; all zeros where a file cannot be told.
struct FileIdentity {
    uint64_t device = 0, inode = 0, bytes = 0;
    int64_t written_ns = 0;  // when it was last written to
    bool operator==(const FileIdentity&) const = default;
};

class File {
 public:
    // Opens a regular file. Folders, pipes, devices, files that are missing or may not be read: an error that
    // names the path. Never blocks, not even on a pipe that nobody writes to.
    static Expected<std::unique_ptr<File>> open(const std::string& path);

    virtual ~File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    const std::string& path() const { return path_; }

    // Bytes at the time of opening.
    virtual uint64_t size() const = 0;

    // Fills `to` with the bytes from `offset` on. A file that ends before that, also because it was cut after
    // it was opened, is an error (Code::truncated) that names the file and the offset. Safe from several
    // threads at once.
    virtual Status read_at(uint64_t offset, std::span<std::byte> to) const = 0;

    // The same for large ranges that are read once: what the page cache holds is copied from there, the rest
    // is read past it (O_DIRECT) where the file system can. `scratch` starts at a multiple of 4096 and holds
    // a multiple of 4096 bytes; it is not needed where address and offset agree modulo 4096. The default is
    // read_at().
    virtual Status read_bulk(uint64_t offset, std::span<std::byte> to, std::span<std::byte> scratch) const;

    // The same past the page cache, where the system can: whole blocks around `to`, which must lie as
    // covering_blocks() (io/blocks.h) wants it. The default is read_at().
    virtual Status read_blocks(uint64_t offset, std::span<std::byte> to) const;

    // What a read brought that the system ran on its own (direct_descriptor()). A file that knows what its
    // bytes must be looks at them here, and mends them where it can. Safe from several threads at once.
    virtual Status accept(uint64_t, std::span<std::byte>) const { return {}; }

    // As it was when it was opened.
    virtual FileIdentity identity() const { return {}; }

    // An error where the file was written to since it was opened, so that what is read now may not belong to
    // what was read before. (Another file of the same name does not matter: what is open stays as it was.)
    // A file's time is set when a write begins and not when it ends, so one that was already under way when
    // the file was opened (up to 2 GiB by one call) is not noticed. The time of its inode is set at the same
    // moment and would tell nothing more, but also change when a file is renamed or linked.
    virtual Status check_unchanged() const { return {}; }

    // A descriptor opened with O_DIRECT, for reads that the system runs on its own; -1: there is none.
    virtual int direct_descriptor() const { return -1; }

    // The system's error number where it refused that descriptor; 0: none was asked for.
    virtual int direct_refusal() const { return 0; }

 protected:
    explicit File(std::string path) : path_(std::move(path)) {}

    // The error for a range that reaches past the end.
    [[nodiscard]] Error ends_early(uint64_t offset, uint64_t bytes, uint64_t actual_size) const;

 private:
    std::string path_;
};

// How a program opens its models; a test, files of its own.
using OpenFile = std::function<Expected<std::unique_ptr<File>>(const std::string& path)>;

}  // namespace ft
