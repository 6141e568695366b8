// The program's edge: the process made ready, the command run, and every failure turned into one sentence.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "cli/dispatch.h"
#include "cli/standard_output.h"

namespace {

// Independent of the caller's locale (texts are UTF-8, numbers have points), of a closed pipe (a failed
// write, not a signal), and of closed standard streams (a file opened later must not become stdout).
void prepare_process() {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) < 0) std::_Exit(70);
    if (!std::setlocale(LC_CTYPE, "C.UTF-8")) std::setlocale(LC_CTYPE, "C");
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit on file sizes then fails with a reason
}

int report(const ft::Error& error) {
    // What was printed comes before the sentence; a failure to print is not the failure to report here.
    std::fflush(stdout);
    std::fprintf(stderr, "freetoken: %s\n", error.sentence().c_str());
    return ft::exit_status(error);
}

int finish(const ft::Expected<int>& outcome) {
    if (!outcome) return report(outcome.error());
    if (const ft::Status written = ft::cli::finish_output(); !written) return report(written.error());
    return *outcome;
}

}  // namespace

int main(int argc, char** argv) {
    prepare_process();
    try {
        return finish(ft::cli::run_program({argv + std::min(argc, 1), argv + argc}));
    } catch (const std::bad_alloc&) {
        std::fputs("freetoken: not enough memory. Close other programs, or take a smaller model or --ctx.\n",
                   stderr);
        return 2;
    } catch (const std::system_error& failure) {
        if (failure.code() == std::errc::broken_pipe) return 0;
        return report({ft::Code::internal, failure.what(), "Please report this with the command."});
    } catch (const std::exception& failure) {
        return report({ft::Code::internal, fmt::format("this is a bug: {}", failure.what()),
                       "Please report it with the command."});
    }
}
