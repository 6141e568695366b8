#include "engine/step_pace.h"

#include <algorithm>
#include <limits>

namespace ft {

namespace {

constexpr int64_t k_first_rows = 32;  // nothing is known yet
constexpr double k_newest = 0.3;      // weight of the newest step
// Of the time that a step may take, what is planned: one step takes up to a quarter longer than the last ones
// of its kind, and it is the slow ones that are waited for.
constexpr double k_planned = 0.8;

Seconds blend(Seconds before, Seconds now) { return before == 0 ? now : before + k_newest * (now - before); }

}  // namespace

void StepPace::took(Seconds seconds, int64_t single_rows, int64_t prompt_rows) {
    if (prompt_rows == 0) {
        if (single_rows > 0) singles_ = blend(singles_, seconds);
        return;
    }
    // Reading weights is shared by all rows, so what prompts add is less than their own part of the time.
    const Seconds singles = single_rows > 0 ? std::min(singles_, seconds / 2) : 0;
    prompt_row_ = blend(prompt_row_, (seconds - singles) / static_cast<double>(prompt_rows));
    last_rows_ = prompt_rows;
}

int64_t StepPace::prompt_rows(int64_t single_rows) const {
    if (single_rows == 0) return std::numeric_limits<int64_t>::max();
    if (prompt_row_ <= 0) return k_first_rows;
    const double fit = std::max(0.0, k_planned * step_ - singles_) / prompt_row_;
    // a short step's rate says little of a long one's
    const double most = 2.0 * static_cast<double>(std::max(last_rows_, k_least));
    return std::max(k_least, static_cast<int64_t>(std::min(fit, most)));
}

}  // namespace ft
