// From the settings kv_cache and inference to the options of the engine.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "engine/serving_options.h"

namespace ft::cli {

// Refuses what cannot work together, with the reason; a park_dir that is no folder, or takes no files.
Status check_serving_settings(const Settings& settings);

KvOptions kv_options(const Settings& settings);
// batch_size: where the settings name none. 4 for commands that answer several requests at once, else 1.
StepOptions step_options(const Settings& settings, int64_t batch_size);

// Whether kv_cache.max_context comes from a profile, which names it for models that have it, or from Ollama's
// variable, which holds for all models of a machine.
bool is_wished_context(const Settings& settings);
// Of such a wish a model gives what it has; `settings` hold that afterwards. Returns the sentence that says
// so; "" where nothing changes. trained_context: 0 where it is not known.
std::string fit_wished_context(Settings& settings, int64_t trained_context);

// What the user chose and should know about: a sentence each, said once at start.
std::vector<std::string> serving_notes(const Settings& settings);

}  // namespace ft::cli
