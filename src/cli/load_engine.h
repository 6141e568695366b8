// From the choice of a model to a loaded one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/model_flags.h"
#include "engine/engine.h"

namespace ft::cli {

// Path, threads and context; what else a command wants (reference, chunk) it sets itself.
LoadOptions load_options(const ModelChoice& choice);

// What was asked for and is not there: more threads than there is hardware for, more RAM than the machine
// has. threads, ram_budget: 0 where nothing was asked for.
std::vector<std::string> machine_notes(int threads, uint64_t ram_budget, int cores, uint64_t ram_total);

constexpr Seconds k_unnoticed_load = 2;  // nothing is said of a shorter load

// What is said of a load that takes long where no bar can be drawn: one line, so that nobody takes the
// program for dead.
class LoadNotice {
 public:
    LoadNotice(std::string file, bool bar_is_drawn) : file_(std::move(file)), is_told_(bar_is_drawn) {}
    // "big.gguf: 0.61 of 6.50 GiB are read, 18 s left" once, after some seconds; else "".
    std::string line(uint64_t done, uint64_t total, Seconds spent);

 private:
    std::string file_;
    bool is_told_;
};

// Engine::load() with a progress bar, or a notice; options.progress is told as well.
Expected<std::unique_ptr<Engine>> load_engine(LoadOptions options);

}  // namespace ft::cli
