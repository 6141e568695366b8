// From the choice of a model to a loaded one.
#pragma once

#include <memory>

#include "cli/model_flags.h"
#include "engine/engine.h"

namespace ft::cli {

// Path, threads and context; what else a command wants (reference, chunk) it sets itself.
LoadOptions load_options(const ModelChoice& choice);

// Engine::load() with a progress bar; options.progress is told as well.
Expected<std::unique_ptr<Engine>> load_engine(LoadOptions options);

}  // namespace ft::cli
