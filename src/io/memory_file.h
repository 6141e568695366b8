// A file whose bytes are in memory: for tests, fuzzing, and headers that came over another way.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "io/file.h"

namespace ft {

class MemoryFile final : public File {
 public:
    MemoryFile(std::string path, std::string bytes) : File(std::move(path)), bytes_(std::move(bytes)) {}

    uint64_t size() const override { return bytes_.size(); }
    Status read_at(uint64_t offset, std::span<std::byte> to) const override {
        if (offset > bytes_.size() || to.size() > bytes_.size() - offset)
            return ends_early(offset, to.size(), bytes_.size());
        if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
        return {};
    }

 private:
    std::string bytes_;
};

}  // namespace ft
