#include "cli/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/system_error.h"

namespace ft::cli {

namespace {

int g_failure = 0;  // errno of the first write that failed

}  // namespace

bool write_out(std::string_view text) {
    while (g_failure == 0 && !text.empty()) {
        const ssize_t put = ::write(STDOUT_FILENO, text.data(), text.size());
        if (put >= 0) {
            text.remove_prefix(static_cast<size_t>(put));
        } else if (errno == EAGAIN) {  // somebody made the pipe or terminal non-blocking
            pollfd out = {STDOUT_FILENO, POLLOUT, 0};
            ::poll(&out, 1, -1);
        } else if (errno != EINTR) {
            g_failure = errno;
        }
    }
    return g_failure == 0;
}

Status finish_output() {
    if (g_failure == 0 || g_failure == EPIPE) return {};
    const std::string_view remedy = system_remedy(g_failure);
    return Error{Code::io, fmt::format("standard output cannot be written: {}", system_reason(g_failure)),
                 remedy.empty() ? "Send the output elsewhere." : std::string(remedy)};
}

}  // namespace ft::cli
