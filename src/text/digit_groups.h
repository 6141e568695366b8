// Digit runs cut into groups of three counted from the right, as people write thousands: 1 234 567. In code,
// because the expressions that publishers give look ahead to the end of the run from each of its digits.
#pragma once

#include <string_view>

#include "base/function_ref.h"

namespace ft {

// Every group of every run of numbers (category N); text is valid UTF-8.
void digit_groups(std::string_view text, FunctionRef<void(std::string_view)> found);

// \d{1,3}(?=(?:\d{3})*\b): decimal digits only, and only in runs that no letter, mark or low line follows.
void digit_groups_before_a_word_end(std::string_view text, FunctionRef<void(std::string_view)> found);

}  // namespace ft
