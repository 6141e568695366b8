// How fast this machine is: what a plan predicts with. Measured in under three seconds, kept under the user's
// cache folder, measured again when the hardware, or the drive of the model, is another one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace ft {

// Direct reads of one size, so many at a time, at random places of one drive.
struct DriveRate {
    uint64_t read_bytes = 0;
    int depth = 0;
    double gb_per_second = 0;  // 1e9 bytes
};

struct DriveProfile {
    std::vector<DriveRate> rates;  // a grid: every size with every depth
    double latency_us = 0;         // of one read of 4 KiB, nothing else in flight

    // The rate of reads of this size with so many in flight, between the points of the grid; 0 without one.
    double gb_per_second(uint64_t read_bytes, double depth) const;
    double best_gb_per_second() const;
    // Of long reads, several at a time, as a long step of a prompt asks for them; 0 without rates.
    double streaming_gb_per_second() const;
};

struct MachineProfile {
    double ram_read_gb_per_second = 0;  // all cores reading
    double cpu_read_gb_per_second =
        0;                  // quantised weights multiplied with one token, all cores; 0: not measured
    double cpu_gflops = 0;  // products with many tokens, two operations per weight; 0: not measured
    DriveProfile drive;     // that the model lies on
    int physical_cores = 0;
    uint64_t ram_bytes = 0;
    double foreign_cpu = 0;   // share of the processors that other programs used meanwhile
    int64_t measured_at = 0;  // seconds since 1970

    // Measured beside busy programs, and long enough ago that another attempt is due.
    bool is_doubtful(int64_t now) const;
};

// The rates of the same machine where only so many threads compute: those of computing fall in proportion to
// the cores, and threads beyond the cores add nothing.
MachineProfile with_threads(MachineProfile profile, int threads);

// Names this machine's processor, cores and RAM: a profile of another machine is worth nothing.
std::string hardware_key();

// $XDG_CACHE_HOME/freetoken, or ~/.cache/freetoken; "" where there is no home.
std::string cache_folder();

// What was measured on this machine, as far as it was: rates of RAM and CPU that are 0, and a drive without
// rates, are still to be measured. A file that is missing, damaged or of another machine gives nothing.
MachineProfile read_profile(const std::string& folder, const std::string& hardware, const std::string& drive);

// Adds to what the file holds of this hardware (profiles of other drives stay), and replaces it in one step.
Status write_profile(const std::string& folder, const std::string& hardware, const std::string& drive,
                     const MachineProfile& profile);

}  // namespace ft
