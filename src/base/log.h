// One line each on stderr: "[load] model loaded: x.gguf". No content of requests, no control characters.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ft {

// Thread-safe; `area` is one of load, mem, serve, warn, stats.
void log_line(std::string_view area, std::string_view text);

template <class... Args>
void log(std::string_view area, fmt::format_string<Args...> format, Args&&... args) {
    log_line(area, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ft
