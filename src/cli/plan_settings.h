// From the settings in force to what a plan is asked, and the parts of a plan that every command shares.
#pragma once

#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "tiers/plan.h"

namespace ft::cli {

// What a plan is made for. run gives one answer at a time, whatever the settings say for others; serve and
// batch give several at once, and serve keeps room for the texts of requests. any: one, or as many as
// inference.batch_size says.
enum class PlanFor { any, run, serve, batch };

PlanSettings plan_settings(const ModelChoice& choice, PlanFor command = PlanFor::run);

// Threads that compute: inference.threads, else the physical cores.
int thread_count(const Settings& settings);

// Refuses a memory.swap_dir that is missing, or no folder.
Status check_memory_settings(const Settings& settings);

// Settings of the section memory that the user gave and this version cannot obey: a sentence each.
std::vector<std::string> memory_notes(const Settings& settings);

}  // namespace ft::cli
