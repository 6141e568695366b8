// One line each on stderr: "[load] model loaded: x.gguf". No content of requests, no control characters.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/clock.h"

namespace ft {

// Thread-safe; `area` is one of load, mem, serve, warn, stats.
void log_line(std::string_view area, std::string_view text);

// From here on each line begins with the time, and a thread of its own writes it to `fd` (log_queue.h): for a
// program that must go on where nobody reads its log. Once.
void log_by_thread(int fd);
// Until that thread has written all lines, or so many seconds have passed. At once where there is none.
void finish_log(Seconds most);

template <class... Args>
void log(std::string_view area, fmt::format_string<Args...> format, Args&&... args) {
    log_line(area, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ft
