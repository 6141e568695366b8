#include "cli/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ft::cli {

namespace {

// For output that did not go through write_out(): the pipe itself knows that its reader is gone.
bool reader_is_gone() {
    pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

int g_failure = 0;  // errno of the first write that failed; stdio forgets it

}  // namespace

bool write_out(std::string_view text) {
    if (std::ferror(stdout)) return false;
    errno = 0;
    const bool written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written) g_failure = errno;
    return written;
}

Status finish_output() {
    errno = g_failure;
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return {};
    const int reason = errno != 0 ? errno : EIO;
    if (reason == EPIPE || reader_is_gone()) return {};
    return Error{Code::io, fmt::format("standard output could not be written: {}", std::strerror(reason)),
                 "Free some space there, or send the output elsewhere."};
}

}  // namespace ft::cli
