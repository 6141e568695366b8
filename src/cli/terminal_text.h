// A model's text for a terminal: what could move the cursor, change a title or hide text is shown, not
// obeyed.
#pragma once

#include <string>
#include <string_view>

namespace ft::cli {

// Control characters (C0 but for newline and tab, DEL, C1) of well-formed UTF-8 as \xHH; carriage returns are
// left out.
std::string terminal_text(std::string_view text);

}  // namespace ft::cli
