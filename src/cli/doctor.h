// The table of the machine that `freetoken doctor` prints: a row for each thing that was looked at.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/drive.h"
#include "device/profile.h"
#include "gguf/gguf.h"
#include "tiers/plan.h"
#include "tiers/plan_predict.h"

namespace ft::cli {

enum class State { ok, warning, problem };

struct Check {
    std::string name;
    State state = State::ok;
    std::string value;
    std::string advice;  // never empty where the state is not ok
};

// doctor_machine.cpp: processor, RAM, swap, drive of `path`, cards, WSL2.
std::vector<Check> machine_checks(const std::string& path, const MachineProfile& profile);
Check drive_check(const Drive& drive, const DriveProfile& profile);

// memory.swap_dir: the drive of the folder, and whether a copy of the experts has room there.
struct ExpertCopy {
    uint64_t bytes = 0;  // that will be written; 0 where it is there, none will be made, or no model is named
    std::string why_not;  // the reason that `run` gives for making none; "": it would, or no model is named
};
Check swap_dir_check(const std::string& folder, const Drive& drive, const ExpertCopy& copy);

// doctor_model.cpp: the file's own health. A file that cannot be opened is a problem; `error` says why.
std::vector<Check> model_checks(const Gguf& file);
Check broken_model_check(const Error& error);

// A model as it would run on this machine.
struct PlannedModel {
    PlannedModel(const Machine& machine, ModelShape shape, const PlanSettings& settings);
    Machine machine;
    ModelShape shape;
    PlanSettings settings;
    Plan plan;
};

// Whether the model fits the budget of RAM, with what the plan takes of it.
Check plan_check(const PlannedModel& model);

// What limits a model on this machine, and at what speed.
struct Bottleneck {
    std::string model;
    std::optional<Prediction> predicted;
    std::string text;  // one sentence
};
Bottleneck bottleneck_of(const PlannedModel& model, const MachineProfile& profile);
// By shape: a mixture of 35 billion weights, 3 billion of them active, as Q4_K_M.
ModelShape example_shape();

}  // namespace ft::cli
