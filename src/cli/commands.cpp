#include "cli/command.h"

namespace ft::cli {

namespace {

// A command is a row here and a file cli/NAME.cpp. --help, the man page and shell completion walk this table.
constexpr Command k_commands[] = {
    {"run", "chat with a model, or answer one prompt", &define_run},
    {"plan", "where a model's bytes would go, and how fast it would be", &define_plan},
    {"doctor", "what this machine has and what limits it; a model's health", &define_doctor},
    {"ps", "the programs of FreeToken that run", &define_ps},
    {"show", "what a model file holds", &define_show},
    {"logits", "the logits of every position, for whoever verifies", &define_logits},
    {"tokenize", "texts to token ids, as JSON lines", &define_tokenize},
    {"detokenize", "token ids to texts, as JSON lines", &define_detokenize},
    {"render", "chat templates with contexts to texts, as JSON lines", &define_render},
    {"perplexity", "how well a model predicts a text", &define_perplexity},
    {"bench", "speed of prompt and generation", &define_bench},
    {"trace", "which experts a model chooses while it answers", &define_trace},
    {"simulate", "what cache policies would have hit on a trace", &define_simulate},
};

}  // namespace

std::span<const Command> commands() { return k_commands; }

}  // namespace ft::cli
