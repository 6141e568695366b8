// The rates of this machine, kept from an earlier measurement or measured now.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/profile.h"

namespace ft {

// Of the drive that `path` lies on: a model's file, or a folder. `on_measure` is called once, before anything
// is measured, which takes less than 3 s; a measurement that fails leaves its rates 0. Kept under the user's
// cache folder; where that cannot be written, one line of log says so.
MachineProfile machine_profile(const std::string& path, const std::function<void()>& on_measure);

// What was measured before; nothing where something would have to be measured.
std::optional<MachineProfile> known_machine_profile(const std::string& path);

}  // namespace ft
