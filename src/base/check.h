// check(): for a programmer's mistake, never for input. Active in every build; keep it out of inner loops.
#pragma once

#include <source_location>
#include <string_view>

namespace ft {

// Writes the sentence and the place to stderr and ends the process with status 70.
[[noreturn]] void check_failed(std::string_view sentence, const std::source_location& at);

inline void check(bool ok, std::string_view sentence,
                  const std::source_location& at = std::source_location::current()) {
    if (!ok) [[unlikely]]
        check_failed(sentence, at);
}

}  // namespace ft
