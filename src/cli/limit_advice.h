// Which resource held an answer up, where that is clear, and what to change.
#pragma once

#include <string>

#include "cli/timings.h"

namespace ft::cli {

struct LimitFacts {
    Timings timings;
    double foreign_cpu = -1;       // share of the processors that other programs used; -1: not known
    double ram_gb_per_second = 0;  // measured earlier on this machine; 0: not known
    bool swap_dir_unused = false;  // memory.swap_dir is set, and nothing is read from there
    int threads = 0, cores = 0;    // in use; physical
};

struct LimitAdvice {
    std::string limit;     // "drive", "cpu", "ram"; "": none is clearly the limit
    std::string sentence;  // what to change
};

LimitAdvice limit_advice(const LimitFacts& facts);

}  // namespace ft::cli
