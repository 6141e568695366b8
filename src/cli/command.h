// One row per command and one file each: cli/NAME.cpp defines its flags and returns what to do once they are
// parsed.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/error.h"

// Of the flag library, which only files that define flags include: it is the largest header of the program.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ft::cli {

// Runs after parsing; the value is the exit status.
using Action = std::function<Expected<int>()>;

struct Command {
    const char* name;
    const char* arguments;              // of its usage line; what is needed stands without brackets
    const char* summary;                // one line for `freetoken --help`
    std::vector<const char*> examples;  // at least one, of 78 columns at most
    Action (*define)(CLI::App& app);    // adds arguments and flags to `app`
};

std::span<const Command> commands();  // cli/commands.cpp

// cli/NAME.cpp, one each
Action define_run(CLI::App& app);
Action define_batch(CLI::App& app);
Action define_serve(CLI::App& app);
Action define_ctl(CLI::App& app);
Action define_pull(CLI::App& app);
Action define_list(CLI::App& app);
Action define_rm(CLI::App& app);
Action define_plan(CLI::App& app);
Action define_doctor(CLI::App& app);
Action define_ps(CLI::App& app);
Action define_show(CLI::App& app);
Action define_logits(CLI::App& app);
Action define_perplexity(CLI::App& app);
Action define_tokenize(CLI::App& app);
Action define_detokenize(CLI::App& app);
Action define_render(CLI::App& app);
Action define_bench(CLI::App& app);
Action define_trace(CLI::App& app);
Action define_simulate(CLI::App& app);

}  // namespace ft::cli
