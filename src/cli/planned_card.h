// A card that is only planned for (`plan --vram N`), whether there is one or not: what such cards have, since
// nothing of it can be measured.
#pragma once

#include "tiers/plan.h"
#include "tiers/plan_predict.h"

namespace ft::cli {

CardShape planned_card(double vram_gib);

// Rates of a card for prompts are not known, and the prediction's are those of the processor. Whatever writes
// an answer can read a prompt token by token at the same speed, so the figures say no less than that.
Prediction no_slower_than_writing(Prediction prediction, const Plan& plan);

}  // namespace ft::cli
