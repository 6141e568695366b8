// Everything that `run` needs of a model, loaded: what can refuse cheaply (vocabulary, template) comes before
// the weights.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/live_sequence.h"
#include "cli/model_flags.h"
#include "sample/sampler.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace ft::cli {

struct RunModel {
    std::string path;
    std::string name;   // general.name, else the file's
    Settings settings;  // with the file's advice
    SamplerParams sampling;
    std::unique_ptr<Tokenizer> tokenizer;
    std::optional<ChatTemplate> chat_template;  // not with --raw
    std::unique_ptr<Engine> engine;
    std::unique_ptr<LiveSequence> sequence;
    std::string limit = {};  // the resource that the last advice was about
};

Expected<RunModel> load_run_model(const ModelChoice& choice, bool raw);

// general.sampling.* of the file, where the user chose nothing; advice outside a setting's range is left out
// with a warning.
void take_advice(Settings& settings, const Gguf& file);

// A seed is drawn where none is set.
SamplerParams sampler_params(const Settings& settings);

}  // namespace ft::cli
