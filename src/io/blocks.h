// Whole blocks of a file: what direct reads (O_DIRECT) move. 4096 bytes satisfy every drive seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/check.h"

namespace ft {

constexpr uint64_t k_file_block = 4096;

struct BlockRange {
    uint64_t offset = 0;  // a multiple of the block, as are the address and the size
    std::span<std::byte> to;
};

// The whole blocks around bytes [offset, offset + to.size()) of a file, with `to` in its place among them.
// The address of `to` equals the offset modulo the block, and what lies around `to` up to the blocks' ends
// is the caller's as well.
inline BlockRange covering_blocks(uint64_t offset, std::span<std::byte> to) {
    const uint64_t skip = offset % k_file_block;
    check(reinterpret_cast<uintptr_t>(to.data()) % k_file_block == skip,
          "the target of a direct read is not aligned like its place in the file");
    return {offset - skip, {to.data() - skip, round_up(skip + to.size(), k_file_block)}};
}

// Bytes that covering_blocks() of `bytes` bytes take at most, wherever they begin.
constexpr uint64_t most_covering_bytes(uint64_t bytes) {
    return round_up(bytes, k_file_block) + k_file_block;
}

}  // namespace ft
