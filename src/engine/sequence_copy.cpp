#include "engine/sequence_copy.h"

#include <algorithm>
#include <type_traits>

#include "engine/sequence_file.h"

namespace ft {

namespace {

// Calls fn(bytes of the sequence, bytes of the copy) for one part after the other.
template <class Memory, class Fn>
void each_copied_part(std::span<const uint8_t> held, const PagePool& pool, Memory& memory, std::byte* copy,
                      Fn fn) {
    const auto part = [&](auto bytes) {
        fn(bytes, std::span<std::byte>(copy, bytes.size()));
        copy += bytes.size();
    };
    for (size_t block = 0; block < held.size(); block++)
        if (held[block] == 1) part(pool.bytes(memory.kv.pages()[block]));
    for (const auto values : {memory.state.all_matrices(), memory.state.all_histories()}) {
        if constexpr (std::is_const_v<Memory>) part(std::as_bytes(values));
        else part(std::as_writable_bytes(values));
    }
}

uint64_t bytes_for(std::span<const uint8_t> held, const PagePool& pool, const SequenceMemory& memory) {
    return static_cast<uint64_t>(std::ranges::count(held, 1)) * pool.page_bytes() +
           memory.state.shape().bytes();
}

}  // namespace

uint64_t SequenceCopy::bytes_of(int64_t n_position, const PagePool& pool, const SequenceMemory& memory) {
    return bytes_for(held_blocks(memory.kv, n_position), pool, memory);
}

Expected<SequenceCopy> SequenceCopy::of(int64_t n_position, const PagePool& pool,
                                        const SequenceMemory& memory) {
    std::vector<uint8_t> held = held_blocks(memory.kv, n_position);
    auto bytes = MemoryMap::reserve(bytes_for(held, pool, memory));
    if (!bytes) return bytes.error();
    each_copied_part(held, pool, memory, bytes->data(),
                     [](auto from, std::span<std::byte> to) { std::ranges::copy(from, to.begin()); });
    return SequenceCopy(std::move(held), std::move(*bytes));
}

bool SequenceCopy::restore(const PagePool& pool, SequenceMemory& memory) const {
    if (!memory.kv.restore(held_)) return false;
    each_copied_part(held_, pool, memory, bytes_.data(),
                     [](auto to, std::span<const std::byte> from) { std::ranges::copy(from, to.begin()); });
    return true;
}

}  // namespace ft
