// How much of the processors other programs used while something was measured. A figure taken beside them is
// no figure.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace ft {

class ForeignCpu {
 public:
    ForeignCpu();
    // Share of all processor time since construction that was used by others or taken by the hypervisor,
    // 0..1. -1 for less than 0.25 s (the counters move in steps of 10 ms), and where /proc/stat cannot be
    // read.
    double share() const;

 private:
    Seconds start_ = 0;
    double busy_ = -1, own_ = 0;  // seconds of processor time
};

}  // namespace ft
