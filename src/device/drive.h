// The drive that a file or folder lies on: what the system says of it, and how fast it reads.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "device/profile.h"

namespace ft {

enum class DriveKind {
    nvme,
    solid_state,  // SATA, virtual and other drives without moving parts
    rotating,
    network,
    memory,         // tmpfs
    windows,        // a folder of Windows seen from WSL2
    virtual_drive,  // of a virtual machine: what stands behind it is not told
    unknown,
};
const char* drive_kind_name(DriveKind kind);

struct Drive {
    std::string device;       // "nvme0n1"; "" where the file system has none that can be seen
    std::string model;        // as the drive calls itself; ""
    std::string file_system;  // "ext4"
    std::string mount_point;
    DriveKind kind = DriveKind::unknown;
    int read_ahead_kb = -1;  // -1: unknown
    uint64_t free_bytes = 0, total_bytes = 0;

    // The same for as long as the same drive is there.
    std::string identity() const;
};

// Of an existing file or folder. `root` stands in front of /proc and /sys, for tests. An error: it does not
// exist.
Expected<Drive> drive_of(const std::string& path, const std::string& root = "");

// Reads of a few sizes and depths at random places of the file, past the page cache, for about `seconds` in
// all. A file below 8 MiB says nothing and is an error, as is one that cannot be read.
Expected<DriveProfile> measure_drive(const std::string& file, double seconds);

// The same on a file of its own, written to `folder` for the purpose and removed.
Expected<DriveProfile> measure_drive_of_folder(const std::string& folder, double seconds);

}  // namespace ft
