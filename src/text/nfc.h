// Normalization form C (Unicode 15, annex 15): decomposed characters are composed, singletons replaced.
#pragma once

#include <string>
#include <string_view>

namespace ft {

// text is valid UTF-8. Linear but for the sorting of runs of combining marks (n log n).
std::string to_nfc(std::string_view text);

// True: text is in form C. False: it may not be (a quick look, exact for texts below U+0300).
bool surely_nfc(std::string_view text);

}  // namespace ft
