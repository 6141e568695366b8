// How fast all cores together read RAM.
#pragma once

namespace ft {

// GB (1e9 bytes) a second: every thread sums its part of a buffer too large for the caches, for about
// `seconds`. Takes 256 MiB meanwhile.
double measure_ram_read(int threads, double seconds);

}  // namespace ft
