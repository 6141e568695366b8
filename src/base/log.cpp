#include "base/log.h"

#include <cstdio>

#include "base/error.h"

namespace ft {

void log_line(std::string_view area, std::string_view text) {
    const std::string line = fmt::format("[{}] {}\n", area, printable(text, 4000));
    std::fwrite(line.data(), 1, line.size(), stderr);  // one call: stdio locks the stream, lines do not mix
    std::fflush(stderr);
}

}  // namespace ft
