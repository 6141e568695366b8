#include "cli/scheduler_settings.h"

#include <limits>

#include "cli/serving_settings.h"

namespace ft::cli {

namespace {

constexpr int64_t k_batch_size = 4;

}  // namespace

SchedulerOptions scheduler_options(const Settings& settings) {
    const KvOptions kv = kv_options(settings);
    const StepOptions steps = step_options(settings, k_batch_size);
    return {.batch_size = static_cast<int>(steps.batch_size),
            .interactive_slots = static_cast<int>(steps.interactive_slots),
            .step_tokens = steps.step_tokens,
            .step_ms = static_cast<double>(steps.step_ms),
            .pool_tokens = kv.pool_tokens,
            .overcommit = kv.overcommit,
            .park_dir = kv.park_dir,
            .prefix_cache_bytes = kv.prefix_cache_bytes.value_or(std::numeric_limits<uint64_t>::max()),
            .state_checkpoint_bytes = kv.state_checkpoint_bytes};
}

}  // namespace ft::cli
