// Loads ranges of files into memory as fast as the drive delivers them.
//
// Several reads are in flight at once, on all drives that the files lie on. What the page cache holds is
// copied from there; the rest is read past it with O_DIRECT, so that a model does not stand in memory twice.
// A file that is cut meanwhile is an error, never a signal, because nothing is mapped. Memory beside the
// targets: one block of 2 MiB for each read in flight.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>

#include "io/file.h"

namespace ft {

struct LoadRange {
    const File* file = nullptr;
    uint64_t offset = 0;
    std::span<std::byte> to;  // ranges do not overlap in memory
};

struct LoadSettings {
    int reads_in_flight = 8;  // drives need several to reach their rate; threads that wait cost nothing

    // Called by the calling thread, about ten times a second and at the end, with bytes read and bytes in
    // all.
    std::function<void(uint64_t done, uint64_t total)> progress;
    std::stop_token stop;
};

// Memory that load_ranges() takes beside the targets, of `bytes` in all, at most.
uint64_t load_memory_bytes(uint64_t bytes, const LoadSettings& settings = {});

// Fills every range, in about the order of the files of each drive. After an error (the first one is
// returned) or a stop (Code::io, "loading was stopped") the contents of the targets are undefined.
Status load_ranges(std::span<const LoadRange> ranges, const LoadSettings& settings = {});

}  // namespace ft
