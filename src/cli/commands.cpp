#include "cli/command.h"

namespace ft::cli {

namespace {

// A command is a row here and a file cli/NAME.cpp. --help, the man page and shell completion walk this table.
constexpr Command k_commands[] = {
    {"run", "chat with a model, or answer one prompt", &define_run},
    {"tokenize", "texts to token ids, as JSON lines", &define_tokenize},
    {"detokenize", "token ids to texts, as JSON lines", &define_detokenize},
};

}  // namespace

std::span<const Command> commands() { return k_commands; }

}  // namespace ft::cli
