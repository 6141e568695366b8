// What the expert cache counts.
#pragma once

#include <cstdint>

namespace ft {

struct CacheStats {
    uint64_t hits = 0, misses = 0;  // experts that layers asked for: in RAM, and on the drive
    uint64_t bytes_read = 0;        // from the drive, for misses and guesses
    double read_seconds = 0;        // in which reads were under way
    double wait_seconds = 0;        // in which nothing could be computed because a read was not over
    double bytes_waited_for = 0;    // that came meanwhile

    double hit_rate() const {
        return hits + misses > 0 ? static_cast<double>(hits) / static_cast<double>(hits + misses) : 1.0;
    }
    // What the drive delivered while there was something to read.
    double read_gb_per_second() const {
        return read_seconds > 0 ? static_cast<double>(bytes_read) / read_seconds / 1e9 : 0.0;
    }
    // What it delivered while it was waited for.
    double waited_gb_per_second() const {
        return wait_seconds > 0 ? bytes_waited_for / wait_seconds / 1e9 : 0.0;
    }
    CacheStats& operator+=(const CacheStats& more) {
        hits += more.hits;
        misses += more.misses;
        bytes_read += more.bytes_read;
        read_seconds += more.read_seconds;
        wait_seconds += more.wait_seconds;
        bytes_waited_for += more.bytes_waited_for;
        return *this;
    }
    CacheStats operator-(const CacheStats& earlier) const {
        return {hits - earlier.hits,
                misses - earlier.misses,
                bytes_read - earlier.bytes_read,
                read_seconds - earlier.read_seconds,
                wait_seconds - earlier.wait_seconds,
                bytes_waited_for - earlier.bytes_waited_for};
    }
};

}  // namespace ft
