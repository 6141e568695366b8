#include "cli/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ft::cli {

namespace {

// stdio forgets the reason of an earlier failure; the pipe itself still knows that its reader is gone.
bool reader_is_gone() {
    pollfd out = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

}  // namespace

bool write_out(std::string_view text) {
    if (std::ferror(stdout)) return false;
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0 && !std::ferror(stdout);
}

Status finish_output() {
    errno = 0;
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return {};
    const int reason = errno;
    if (reason == EPIPE || reader_is_gone()) return {};
    return Error{
        Code::io,
        fmt::format("standard output could not be written: {}", std::strerror(reason ? reason : EIO)),
        "Free some space there, or send the output elsewhere."};
}

}  // namespace ft::cli
