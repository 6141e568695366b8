#include "engine/parking.h"

#include <unistd.h>

#include "base/log.h"
#include "engine/sequence_file.h"

namespace ft {

Parking::~Parking() {
    while (!files_.empty()) remove(*files_.begin());
}

std::string Parking::path(Place place) const {
    return fmt::format("{}/freetoken-{}-{}.sequence", folder_, getpid(), place);
}

std::optional<Parking::Place> Parking::save(std::span<const int32_t> ids, const PagePool& pool,
                                            const SequenceMemory& memory) {
    if (folder_.empty()) return save_in_ram(static_cast<int64_t>(ids.size()), pool, memory);
    if (!writable_) return std::nullopt;
    if (const Status written =
            write_sequence(path(next_), model_, {{ids.begin(), ids.end()}, {}}, pool, memory);
        !written) {
        log("warn", "{} Nothing is parked there any more; answers that have to wait are read again.",
            written.error().sentence());
        writable_ = false;
        return std::nullopt;
    }
    files_.insert(next_);
    return next_++;
}

std::optional<Parking::Place> Parking::save_in_ram(int64_t n_position, const PagePool& pool,
                                                   const SequenceMemory& memory) {
    if (ram_used_ + SequenceCopy::bytes_of(n_position, pool, memory) > ram_bytes_) return std::nullopt;
    auto copy = SequenceCopy::of(n_position, pool, memory);
    if (!copy) return std::nullopt;
    ram_used_ += copy->bytes();
    copies_.emplace(next_, std::move(*copy));
    return next_++;
}

bool Parking::restore(Place place, const PagePool& pool, SequenceMemory& memory) {
    if (const auto copy = copies_.find(place); copy != copies_.end()) {
        const bool restored = copy->second.restore(pool, memory);
        remove(place);
        return restored;
    }
    const Status read = read_sequence(path(place), model_, pool, memory);
    if (!read) log("warn", "{} The answer is read again.", read.error().sentence());
    remove(place);
    return static_cast<bool>(read);
}

void Parking::remove(Place place) {
    if (files_.erase(place) > 0) unlink(path(place).c_str());
    const auto copy = copies_.find(place);
    if (copy == copies_.end()) return;
    ram_used_ -= copy->second.bytes();
    copies_.erase(copy);
}

}  // namespace ft
