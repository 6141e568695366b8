// What `freetoken plan` says, worked out once and printed in two forms.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tiers/plan.h"
#include "tiers/plan_predict.h"

namespace ft::cli {

// The same plan with another context.
struct ContextRow {
    Plan plan;
    std::optional<Prediction> predicted;
};

struct PlanReport {
    ModelShape shape;
    uint64_t file_bytes = 0;  // of all parts
    Machine machine;
    Plan plan;
    bool some_budget_works = true;        // of RAM; false: it is not RAM that is missing
    std::optional<Prediction> predicted;  // nothing where the plan does not fit
    std::vector<std::string> advice, notes;
    std::vector<ContextRow> contexts;
};

nlohmann::ordered_json plan_json(const PlanReport& report);
std::string plan_text(const PlanReport& report);

}  // namespace ft::cli
