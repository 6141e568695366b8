#include "engine/parking.h"

#include <unistd.h>

#include "base/log.h"
#include "engine/sequence_file.h"

namespace ft {

Parking::~Parking() {
    while (!places_.empty()) remove(*places_.begin());
}

std::string Parking::path(Place place) const {
    return fmt::format("{}/freetoken-{}-{}.sequence", folder_, getpid(), place);
}

std::optional<Parking::Place> Parking::save(std::span<const int32_t> ids, const PagePool& pool,
                                            const SequenceMemory& memory) {
    if (!writable_) return std::nullopt;
    if (const Status written =
            write_sequence(path(next_), model_, {{ids.begin(), ids.end()}, {}}, pool, memory);
        !written) {
        log("warn", "{} Nothing is parked there any more; answers that have to wait are read again.",
            written.error().sentence());
        writable_ = false;
        return std::nullopt;
    }
    places_.insert(next_);
    return next_++;
}

bool Parking::restore(Place place, const PagePool& pool, SequenceMemory& memory) {
    const Status read = read_sequence(path(place), model_, pool, memory);
    if (!read) log("warn", "{} The answer is read again.", read.error().sentence());
    remove(place);
    return static_cast<bool>(read);
}

void Parking::remove(Place place) {
    if (places_.erase(place) > 0) unlink(path(place).c_str());
}

}  // namespace ft
