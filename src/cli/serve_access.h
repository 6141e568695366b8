// Who may reach a server, and how much memory they may take: what of that can be refused before the model is
// read.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace ft::cli {

// True where this machine alone is served and no key is needed: names that requests call it by then matter
// (server/host_names.h). Errors: an address that is none; one that others reach, without keys; an origin that
// is none.
Expected<bool> serves_this_machine_alone(const Settings& settings);

// server.requests_mib in bytes; where it is auto, from the RAM that the server may take. available: bytes of
// RAM.
uint64_t request_room(const Settings& settings, uint64_t available);

}  // namespace ft::cli
