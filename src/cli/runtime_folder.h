// The folder in which running programs say what they do. One under /tmp may be made by anybody before us.
#pragma once

#include <string>

#include "base/error.h"

namespace ft::cli {

// $XDG_RUNTIME_DIR/freetoken, or a folder of this user under /tmp.
std::string runtime_folder();

// False where nothing has the name; an error where it is a link, a file, or somebody else's folder: there
// nothing is to be read, changed or removed.
Expected<bool> has_own_folder(const std::string& folder);

// Makes it where it is missing, and takes others' rights to it away. An error where something else has its
// name, which stays as it is, or where it cannot be made.
Status make_own_folder(const std::string& folder);

}  // namespace ft::cli
