// Everything that `run` needs of a model, loaded: what can refuse cheaply (vocabulary, template) comes before
// the weights.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/live_sequence.h"
#include "cli/model_flags.h"
#include "engine/engine.h"
#include "grammar/grammar.h"
#include "sample/sampler.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace ft::cli {

struct RunModel {
    std::string path;
    std::string name;   // general.name, else the file's
    Settings settings;  // with the file's advice
    SamplerParams sampling;
    std::vector<std::string> stop;  // texts that end an answer
    std::vector<int32_t> end_ids;   // tokens that do; none with ignore_eos
    std::unique_ptr<Tokenizer> tokenizer;
    SharedGrammar grammar = nullptr;            // of all answers; nullptr: they may be anything
    std::optional<ChatTemplate> chat_template;  // not with --raw
    std::unique_ptr<Engine> engine;
    std::unique_ptr<LiveSequence> sequence;
    std::string limit = {};     // the resource that the last advice was about
    bool load_is_told = false;  // how long loading took

    bool is_end(int32_t id) const { return std::find(end_ids.begin(), end_ids.end(), id) != end_ids.end(); }
};

// Called with everything but engine and sequence, before the weights are read: for what can be refused by
// then.
using BeforeWeights = std::function<Status(const RunModel& model, const ModelOutline& outline)>;

// Sampling, stop texts and end tokens anew from model.settings, for the answers to come. After an error the
// model is as it was.
Status take_answer_settings(RunModel& model);

Expected<RunModel> load_run_model(const ModelChoice& choice, bool raw,
                                  const BeforeWeights& before_weights = {});

}  // namespace ft::cli
