#include "engine/parking.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/log.h"
#include "base/process.h"
#include "engine/sequence_file.h"

namespace ft {

namespace {

// freetoken-PID-NUMBER.sequence of a process that is no more.
bool is_left_over(const std::string& name) {
    int pid = 0, end = 0;
    unsigned long long number = 0;
    if (std::sscanf(name.c_str(), "freetoken-%d-%llu.sequence%n", &pid, &number, &end) != 2) return false;
    return end > 0 && static_cast<size_t>(end) == name.size() && pid > 0 && process_is_gone(pid);
}

}  // namespace

Parking::Parking(std::string folder, uint64_t ram_bytes, uint64_t model)
    : folder_(std::move(folder)),
      writable_(!folder_.empty()),
      ram_bytes_(folder_.empty() ? ram_bytes : 0),
      model_(model) {
    if (folder_.empty()) return;
    std::error_code ignored;
    std::filesystem::directory_iterator at(folder_, ignored);
    for (; at != std::filesystem::directory_iterator(); at.increment(ignored))
        if (is_left_over(at->path().filename().string())) unlink(at->path().c_str());
}

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
