// The program's edge: the process made ready, the command run, and every failure turned into one sentence.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "base/bytes.h"
#include "base/system_error.h"
#include "cli/dispatch.h"
#include "cli/standard_output.h"

namespace {

constexpr uint64_t k_least_stack = 512 * ft::k_kib;

// A closed standard stream is filled, because a file opened later must not become it; writing to a stdout
// that was closed still fails.
void fill_closed_streams() {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
            std::_Exit(70);
}

// A model in a thousand parts takes two descriptors for each.
void raise_limit_on_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// Texts of models and users are nested to a bound that takes less; below it a crash would be the answer.
ft::Status check_stack() {
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= k_least_stack) return {};
    return ft::Error{ft::Code::too_large,
                     fmt::format("the limit on the stack is {} KiB, less than the {} KiB that are needed",
                                 limit.rlim_cur / ft::k_kib, k_least_stack / ft::k_kib),
                     "Raise it: `ulimit -s 8192` in the shell, or LimitSTACK of a service."};
}

// Independent of the caller's locale (texts are UTF-8, numbers have points) and of a closed pipe (a failed
// write, not a signal).
void prepare_process() {
    fill_closed_streams();
    raise_limit_on_files();
    if (!std::setlocale(LC_CTYPE, "C.UTF-8")) std::setlocale(LC_CTYPE, "C");
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit on file sizes then fails with a reason
}

int report(const ft::Error& error) {
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
    if (const ft::Status enough = check_stack(); !enough) return report(enough.error());
    try {
        return finish(ft::cli::run_program({argv + std::min(argc, 1), argv + argc}));
    } catch (const std::bad_alloc&) {
        std::fputs("freetoken: not enough memory. Close other programs, or take a smaller model or --ctx.\n",
                   stderr);
        return 2;
    } catch (const std::system_error& failure) {
        if (failure.code() == std::errc::broken_pipe) return 0;
        if (failure.code() == std::errc::resource_unavailable_try_again)
            return report(
                {ft::Code::too_large, "the system gives no thread to work with", ft::thread_remedy()});
        return report({ft::Code::internal, failure.what(), "Please report this with the command."});
    } catch (const std::exception& failure) {
        return report({ft::Code::internal, fmt::format("this is a bug: {}", failure.what()),
                       "Please report it with the command."});
    }
}
