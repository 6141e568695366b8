// A result that appears whole or not at all: it is written beside the target and takes its name on commit().
// Until then a file that was there stays as it was; without commit() nothing is left behind, not even when a
// signal ends the program. What is no regular file (/dev/null, a pipe that somebody reads) is written
// directly, and so is a file that the program was started with as a descriptor for writing (/dev/stdout):
// from where the descriptor stands, without cutting it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/temporary_name.h"

namespace ft {

class OutputFile {
 public:
    // Every error here and below names the target. Never waits for the reader of a pipe.
    // new_mode: permissions of a file that was not there, less the umask.
    static Expected<OutputFile> create(const std::string& target, uint32_t new_mode = 0666);

    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;
    ~OutputFile();

    Status write(std::span<const std::byte> bytes);

    // What was written so far is on the drive, and no longer in the page cache: for large files.
    Status sync();

    // Once, last: all bytes are with the system and the target has its name.
    Status commit();

 private:
    OutputFile() = default;
    Status open_directly();
    Status create_beside(uint32_t mode);
    Status flush();
    Status finish_bytes();
    Status give_name();
    Status take_target();
    void take_back();
    friend Status commit_all(std::span<OutputFile* const> files);
    Status write_through(std::span<const std::byte> bytes);

    std::string target_;       // as the user wrote it
    std::string final_;        // where links lead
    TemporaryName temporary_;  // empty for a file without a name yet, and for one that is written directly
    int fd_ = -1;
    bool direct_ = false;
    bool replaces_ = false;           // the target was there before
    std::vector<std::byte> pending_;  // small writes are gathered
};

// commit() of results that belong together: where one cannot be written, none of them appears. (One that is
// written directly has been sent.)
Status commit_all(std::span<OutputFile* const> files);

// Whether both paths lead to one regular file, or would once it is created.
bool is_same_file(const std::string& a, const std::string& b);

// An error: no file can be made in the folder, and why. Nothing is left there.
Status check_takes_files(const std::string& folder);

// Removes from a folder what processes that are no more left half written: only those that were killed where
// the file system has no files without names.
void remove_stale_output(const std::string& folder);

}  // namespace ft
