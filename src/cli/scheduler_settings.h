// From the settings kv_cache and inference to the options of a scheduler.
#pragma once

#include "config/settings.h"
#include "engine/scheduler.h"

namespace ft::cli {

// batch_size is 4 where the settings name none. What cannot work together was refused when they were read
// (serving_settings.h).
SchedulerOptions scheduler_options(const Settings& settings);

}  // namespace ft::cli
