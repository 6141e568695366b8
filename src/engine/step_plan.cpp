#include "engine/step_plan.h"

#include <algorithm>

namespace ft {

namespace {

constexpr int64_t k_batch_share = 4;  // one part in so many

bool is_prompt(const StepNeed& need) { return need.pending > 1; }

int64_t give_singles(std::span<StepNeed> needs, int64_t rows, uint64_t turn) {
    const size_t n = needs.size();
    for (size_t i = 0; i < n && rows > 0; i++) {
        StepNeed& need = needs[(i + turn) % n];
        if (is_prompt(need)) continue;
        need.rows = 1;
        rows--;
    }
    return rows;
}

int64_t missing(const StepNeed& need) { return std::min(need.pending, need.most) - need.rows; }

// In equal parts, so that a short prompt does not wait for a long one that came before it.
int64_t give_prompts(std::span<StepNeed> needs, Lane lane, int64_t rows) {
    const auto hungry = [lane](const StepNeed& need) {
        return is_prompt(need) && need.lane == lane && missing(need) > 0;
    };
    while (rows > 0) {
        const auto n = std::ranges::count_if(needs, hungry);
        if (n == 0) break;
        const int64_t part = std::max<int64_t>(1, rows / n);
        for (StepNeed& need : needs) {
            if (!hungry(need)) continue;
            const int64_t more = std::min({missing(need), part, rows});
            need.rows += more;
            rows -= more;
        }
    }
    return rows;
}

}  // namespace

void plan_step(std::span<StepNeed> needs, const StepLimits& limits, uint64_t turn) {
    for (StepNeed& need : needs) need.rows = 0;
    const int64_t left = give_singles(needs, limits.rows, needs.empty() ? 0 : turn % needs.size());
    int64_t rows = std::min(left, limits.prompt_rows);
    const auto waits = [](Lane lane) {
        return [lane](const StepNeed& need) { return is_prompt(need) && need.lane == lane; };
    };
    const bool both = std::ranges::any_of(needs, waits(Lane::interactive)) &&
                      std::ranges::any_of(needs, waits(Lane::batch));
    // of a step that is too short to be shared, every fourth is the batch lane's
    const int64_t few = turn % k_batch_share == 0 ? rows : 0;
    const int64_t kept = !both ? 0 : rows >= k_batch_share ? rows / k_batch_share : few;
    rows = give_prompts(needs, Lane::interactive, rows - kept) + kept;
    rows = give_prompts(needs, Lane::batch, rows);
    give_prompts(needs, Lane::interactive, rows);
}

}  // namespace ft
