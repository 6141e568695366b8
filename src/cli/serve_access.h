// Who may reach a server, and how much memory they may take: what of that can be refused before the model is
// read.
#pragma once

#include "config/settings.h"
#include "tiers/plan.h"

namespace ft::cli {

// True where this machine alone is served and no key is needed: names that requests call it by then matter
// (server/host_names.h). Errors: an address that is none; one that others reach, without keys; an origin that
// is none.
Expected<bool> serves_this_machine_alone(const Settings& settings);

// server.requests_mib; where it is auto, a part of the RAM that the server may take.
RequestRoom request_room(const Settings& settings);

}  // namespace ft::cli
