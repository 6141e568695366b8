#include "engine/lanes.h"

namespace ft {

namespace {

constexpr int k_most_passed = 8;

}  // namespace

bool Lanes::has_slot(Lane lane) const {
    if (running() >= limits_.batch_size) return false;
    return lane == Lane::interactive || of(lane).running < limits_.batch_size - limits_.interactive_slots;
}

std::optional<Lane> Lanes::next() const {
    const bool interactive = of(Lane::interactive).waiting > 0 && has_slot(Lane::interactive);
    const bool batch = of(Lane::batch).waiting > 0 && has_slot(Lane::batch);
    if (interactive && (!batch || of(Lane::interactive).running < limits_.interactive_slots))
        return Lane::interactive;
    if (batch) return Lane::batch;
    return std::nullopt;
}

bool Lanes::may_pass(Lane blocked) const {
    const Lane lane = other(blocked);
    return of(lane).waiting > 0 && has_slot(lane) && passed_[index(blocked)] < k_most_passed;
}

void Lanes::start(Lane lane, std::optional<Lane> passed) {
    of(lane).waiting--;
    of(lane).running++;
    passed_[index(lane)] = 0;
    if (passed) passed_[index(*passed)]++;
}

}  // namespace ft
