#include "tiers/slots.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

#include "base/bytes.h"
#include "io/blocks.h"

namespace ft {

namespace {

constexpr uint64_t k_commit_bytes = 64 * k_mib;  // that one thread commits at a time

// False where the system refuses. Systems older than Linux 5.14 do not know the advice; there pages are
// written to.
bool commit(std::byte* at, uint64_t bytes) {
    if (::madvise(at, bytes, MADV_POPULATE_WRITE) == 0) return true;
    if (errno != EINVAL) return false;
    for (uint64_t i = 0; i < bytes; i += k_file_block) static_cast<volatile std::byte*>(at)[i] = std::byte{0};
    return true;
}

bool commit_all(const MemoryMap& memory, int n_thread) {
    std::atomic<uint64_t> next{0};
    std::atomic<bool> ok{true};
    const auto work = [&] {
        for (uint64_t at = next.fetch_add(k_commit_bytes); at < memory.size() && ok;
             at = next.fetch_add(k_commit_bytes))
            if (!commit(memory.data() + at, std::min<uint64_t>(k_commit_bytes, memory.size() - at)))
                ok = false;
    };
    std::vector<std::jthread> threads;
    try {
        for (int i = 1; i < n_thread; i++) threads.emplace_back(work);
    } catch (const std::system_error&) {
        // fewer threads take longer
    }
    work();
    threads.clear();
    return ok;
}

}  // namespace

std::vector<uint64_t> slot_rooms(std::span<const uint64_t> slices) {
    std::vector<uint64_t> rooms{0};
    for (const uint64_t bytes : slices) rooms.push_back(rooms.back() + most_covering_bytes(bytes));
    return rooms;
}

Expected<Slots> Slots::create(std::vector<SlotClass> classes, int n_thread) {
    Slots slots;
    uint64_t end = 0;
    for (const SlotClass& of : classes) {
        std::vector<uint64_t> rooms = slot_rooms(of.slices);
        for (int64_t i = 0; i < of.n_slot; i++) {
            slots.class_of_.push_back(static_cast<int>(slots.rooms_.size()));
            slots.begin_.push_back(end);
            end += rooms.back();
        }
        slots.rooms_.push_back(std::move(rooms));
    }
    auto memory = MemoryMap::reserve(end, true);
    if (!memory) return memory.error();
    slots.memory_ = std::move(*memory);
    if (!commit_all(slots.memory_, n_thread))
        return Error{Code::too_large,
                     fmt::format("the system gives no {} MiB of memory for experts", end / k_mib),
                     "Lower memory.ram_budget (--ram), or close other programs."};
    return slots;
}

// A slot begins and ends inside huge pages. Taking part of one out of use frees nothing until the system is
// out of memory; advice that the part is cold makes it split the page, where it knows that advice
// (Linux 5.4).
void Slots::release(int slot) {
    std::byte* begin = room(slot, 0);
    (void)::madvise(begin, slot_bytes(slot), MADV_COLD);
    check(::madvise(begin, slot_bytes(slot), MADV_DONTNEED) == 0,
          "the system does not take a slot's memory back");
}

bool Slots::commit(int slot) { return ft::commit(room(slot, 0), slot_bytes(slot)); }

}  // namespace ft
