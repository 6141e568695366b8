// For tests: what a model file of theirs holds, each byte telling its place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ft {

inline std::byte byte_at(uint64_t offset) {
    return static_cast<std::byte>(offset * 31 + offset / 251 + offset / 65521);
}

}  // namespace ft
