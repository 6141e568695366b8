// Text of others (a file's names, a model's answer, a user's bytes) made fit to be shown: what a terminal
// would obey, and what would show a line in another order than it is read, is written out instead.
//
// That is: control characters (C0, DEL, C1), the embeddings, overrides and isolates of bidirectional text
// (U+202A..U+202E, U+2066..U+2069), line and paragraph separators (U+2028, U+2029), and bytes that are no
// UTF-8. Controls below U+0080 and bytes become \xHH, the others \uHHHH.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ft {

// One line, cut to `most` bytes with an ellipsis.
std::string printable(std::string_view text, size_t most = 200);

// Several lines: newlines and tabs stay, carriage returns are left out.
std::string printable_lines(std::string_view text);

// JSON text, which has such characters in its strings alone: every one becomes \uHHHH, so that it is the same
// JSON. The text is UTF-8.
std::string printable_json(std::string_view json);

}  // namespace ft
