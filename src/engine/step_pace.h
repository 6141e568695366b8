// How many rows of prompts fit a step that others wait for, from what earlier steps took.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace ft {

class StepPace {
 public:
    explicit StepPace(Seconds step) : step_(step) {}

    // What a step took: its single tokens, rows of prompts.
    void took(Seconds seconds, int64_t single_rows, int64_t prompt_rows);

    // For a step with so many single tokens; without any, nobody waits. At least k_least, so that prompts
    // come to an end also where the single tokens alone take as long as a step may.
    int64_t prompt_rows(int64_t single_rows) const;

    static constexpr int64_t k_least = 8;

 private:
    Seconds step_;
    Seconds singles_ = 0;     // of a step without prompts
    Seconds prompt_row_ = 0;  // 0: not measured yet
    int64_t last_rows_ = 0;   // of prompts in the last step that had any
};

}  // namespace ft
