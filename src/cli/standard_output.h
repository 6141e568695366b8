// Results on stdout. A reader that closed its end (`freetoken run … | head -1`) is no failure: the program
// ends quietly.
#pragma once

#include <string_view>

#include "base/error.h"

namespace ft::cli {

// Writes all of it at once, waiting where stdout does not block; false when nobody reads any more or a write
// failed, now or before (finish_output() says which).
bool write_out(std::string_view text);

// An error when a write failed for another reason than a reader that went away.
Status finish_output();

}  // namespace ft::cli
