#include "cli/load_engine.h"

#include "cli/progress_bar.h"

namespace ft::cli {

LoadOptions load_options(const ModelChoice& choice) {
    LoadOptions options;
    options.model_path = choice.path;
    options.n_ctx = choice.n_ctx;
    if (choice.settings.has("inference.threads"))
        options.threads = static_cast<int>(choice.settings.integer("inference.threads"));
    return options;
}

Expected<std::unique_ptr<Engine>> load_engine(LoadOptions options) {
    ProgressBar bar("loading");
    options.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    return Engine::load(options);
}

}  // namespace ft::cli
