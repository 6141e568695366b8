// A sequence in a file: its ids, its keys and values, the state of its recurrent layers. What is read back is
// what was written, to the bit. Format (little-endian, version 2):
//   "FTSEQ", three zero bytes; u32 version; u32 type of K, u32 of V; u32 number of pages
//   u64 model (sequence_model_key), u64 number of ids, u64 bytes of a page, u64 bytes of state, u64 bytes of
//   note
//   i32 ids; the note, a text of whoever saved it; a byte for each block of 128 positions: 1, or 0 where a
//   window has dropped it; the pages of the others in order, the last one whole too
//   state: matrices, then histories
//   u64 XXH3 of all before it
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/gguf.h"
#include "model/ops.h"

namespace ft {

// The same for two files that hold the same tensors of the same sizes.
uint64_t sequence_model_key(const Gguf& file);

// Of the blocks of n_position positions: 1 where they are held, 0 where a window has dropped them.
std::vector<uint8_t> held_blocks(const KvSequence& kv, int64_t n_position);

// A sequence but for its memory.
struct SavedSequence {
    std::vector<int32_t> ids;
    std::string note;
};

// saved.ids.size() positions of `memory`, whose pages come from `pool`. Errors name the file.
Status write_sequence(const std::string& path, uint64_t model, const SavedSequence& saved,
                      const PagePool& pool, const SequenceMemory& memory);

// The ids and the note of a file, whose header was checked: another model, other types of keys and values,
// another version are refused with the name of the file.
Expected<SavedSequence> read_saved(const std::string& path, uint64_t model, const PagePool& pool,
                                   const RecurrentState& state);

// The rest of it, into a sequence of which nothing was dropped and whose pages are its own; it takes those
// that are missing. An error: the file is damaged or cannot be read, or the pool has not enough pages
// (Code::unsupported); the memory is then worth nothing.
Status read_sequence(const std::string& path, uint64_t model, const PagePool& pool, SequenceMemory& memory);

}  // namespace ft
