// Keys that are typed while a model is read are not shown, and a shell finds its terminal as it was.
#include "cli/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace ft::cli {
namespace {

bool shows_keys(int terminal) {
    termios mode{};
    EXPECT_EQ(tcgetattr(terminal, &mode), 0);
    return (mode.c_lflag & ECHO) != 0;
}

// A child on a terminal of its own that says 1 while keys are silent, waits for a byte, and says 2
// afterwards.
struct SilentChild {
    int terminal = -1, said = -1, go_on = -1;
    pid_t child = -1;

    SilentChild() {
        int report[2], start[2];
        EXPECT_EQ(pipe(report), 0);
        EXPECT_EQ(pipe(start), 0);
        child = forkpty(&terminal, nullptr, nullptr, nullptr);
        if (child == 0) {
            run(report[1], start[0]);
            std::_Exit(0);
        }
        close(report[1]);
        close(start[0]);
        said = report[0];
        go_on = start[1];
    }
    ~SilentChild() {
        close(go_on);
        close(said);
        close(terminal);
    }
    static void run(int report, int start) {
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        char byte = '1';
        {
            const SilentKeys silent(STDIN_FILENO);
            if (write(report, &byte, 1) != 1 || read(start, &byte, 1) != 1) std::_Exit(1);
        }
        byte = '2';
        if (write(report, &byte, 1) != 1 || read(start, &byte, 1) != 1) std::_Exit(1);
    }
    char next() const {
        char byte = 0;
        EXPECT_EQ(read(said, &byte, 1), 1);
        return byte;
    }
    void let_go_on() const { EXPECT_EQ(write(go_on, "x", 1), 1); }
    int ended() const {
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return status;
    }
};

TEST(SilentKeys, HideWhatIsTypedAndGiveTheTerminalBack) {
    const SilentChild loading;
    ASSERT_EQ(loading.next(), '1');
    EXPECT_FALSE(shows_keys(loading.terminal));
    loading.let_go_on();
    ASSERT_EQ(loading.next(), '2');
    EXPECT_TRUE(shows_keys(loading.terminal));
    loading.let_go_on();
    EXPECT_EQ(loading.ended(), 0);
}

TEST(SilentKeys, ASignalGivesTheTerminalBackToo) {
    for (const int signal : {SIGINT, SIGTERM}) {
        const SilentChild loading;
        ASSERT_EQ(loading.next(), '1');
        ASSERT_EQ(kill(loading.child, signal), 0);
        const int status = loading.ended();
        EXPECT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(WTERMSIG(status), signal);
        EXPECT_TRUE(shows_keys(loading.terminal));
    }
}

TEST(SilentKeys, AreNothingWithoutATerminal) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    struct sigaction before = {}, meanwhile = {};
    ASSERT_EQ(sigaction(SIGTERM, nullptr, &before), 0);
    const SilentKeys silent(ends[0]);
    ASSERT_EQ(sigaction(SIGTERM, nullptr, &meanwhile), 0);
    EXPECT_EQ(meanwhile.sa_handler, before.sa_handler);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace ft::cli
