// A result that appears whole or not at all: it is written beside the target and takes its name on commit().
// Until then a file that was there stays as it was; without commit() nothing is left behind. A target that is
// no regular file (/dev/null, a pipe) is written directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace ft {

class OutputFile {
 public:
    // Every error here and below names the target.
    static Expected<OutputFile> create(const std::string& target);

    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;
    ~OutputFile();

    Status write(std::span<const std::byte> bytes);

    // Once, last: all bytes are with the system and the target has its name.
    Status commit();

 private:
    OutputFile() = default;
    Status create_beside(uint32_t mode);
    Status flush();
    Status take_name();

    std::string target_;     // as the user wrote it
    std::string final_;      // where links lead
    std::string temporary_;  // "" for a file without a name yet, and for a target that is written directly
    int fd_ = -1;
    bool direct_ = false;
    std::vector<std::byte> pending_;  // small writes are gathered
};

}  // namespace ft
