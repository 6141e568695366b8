// From the words of the command line to a command of the table, its parsed flags, and its exit status.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

namespace ft::cli {

// A command with its flags defined, not yet parsed: what parsing, --help, the man page and completion walk.
struct DefinedCommand {
    std::unique_ptr<CLI::App> app;
    Action action;
};
DefinedCommand define_command(const Command& command);

std::string version_line();  // "freetoken 0.1.0"

// `words` without the program's name. Results go to stdout; a failure is the caller's to print. The value is
// the exit status.
Expected<int> run_program(const std::vector<std::string>& words);

}  // namespace ft::cli
