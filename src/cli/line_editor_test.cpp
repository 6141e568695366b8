#include "cli/line_editor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/interrupt.h"

namespace ft::cli {
namespace {

constexpr int k_patience_ms = 10000;

// A child on a pseudo-terminal that reads lines until the end of input and reports each on a pipe.
class EditorOnATerminal {
 public:
    explicit EditorOnATerminal(const std::string& history) {
        int report[2], start[2];
        EXPECT_EQ(pipe(report), 0);
        EXPECT_EQ(pipe(start), 0);
        child_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
        if (child_ == 0) {
            close(report[0]);
            close(start[1]);
            char end = 0;
            while (read(start[0], &end, 1) > 0) {
            }  // until the parent has seen the terminal as it is
            edit(history, report[1]);
            std::_Exit(0);
        }
        at_start_ = mode();
        for (int end : {report[1], start[0], start[1]}) close(end);
        report_ = report[0];
    }
    // The child ends by itself after Ctrl-D; a test that failed before it gets there ends it.
    ~EditorOnATerminal() {
        for (int waited_ms = 0; child_ > 0 && waitpid(child_, nullptr, WNOHANG) == 0; waited_ms += 10) {
            if (waited_ms >= k_patience_ms) kill(child_, SIGKILL);
            usleep(10'000);
        }
        close(terminal_);
        close(report_);
    }

    void type(std::string_view keys) {
        EXPECT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    }
    // Waits until the editor shows the prompt of its next line, so that keys meet an editing terminal.
    void wait_for_prompt() {
        const std::string prompt = prompt_of(n_prompt_++);
        std::string shown;
        while (shown.find(prompt) == std::string::npos && readable(terminal_)) {
            char block[256];
            const ssize_t got = read(terminal_, block, sizeof block);
            if (got <= 0) break;
            shown.append(block, static_cast<size_t>(got));
        }
        EXPECT_NE(shown.find(prompt), std::string::npos) << shown;
        // The prompt is shown just before the terminal hands out single keys.
        wait_for_keys();
    }
    // Until the terminal hands out single keys.
    void wait_for_keys() {
        for (int waited_ms = 0; (mode().c_lflag & ICANON) != 0; waited_ms++) {
            if (waited_ms >= k_patience_ms) FAIL() << "the terminal stays in line mode";
            usleep(1000);
        }
    }
    termios mode() const {
        termios mode{};
        EXPECT_EQ(tcgetattr(terminal_, &mode), 0);
        return mode;
    }
    const termios& at_start() const { return at_start_; }
    void set_mode(const termios& mode) const { EXPECT_EQ(tcsetattr(terminal_, TCSANOW, &mode), 0); }
    pid_t child() const { return child_; }
    void gone() { child_ = -1; }  // its end was waited for
    std::string next_report() {
        std::string line;
        char c = 0;
        while (readable(report_) && read(report_, &c, 1) == 1 && c != '\n') line += c;
        return line;
    }

 private:
    static std::string prompt_of(int n) { return "line " + std::to_string(n) + "> "; }
    static bool readable(int fd) {
        pollfd wait = {fd, POLLIN, 0};
        return poll(&wait, 1, k_patience_ms) > 0;
    }
    static void edit(const std::string& history, int report) {
        setenv("TERM", "xterm", 1);
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::setlocale(LC_CTYPE, "C.UTF-8");
        catch_interrupts();
        LineEditor editor(history);
        LineEditor::Line line;
        int n_prompt = 0;
        do {
            line = editor.read(prompt_of(n_prompt++));
            dprintf(report, "%d:%s\n", static_cast<int>(line.kind), line.text.c_str());
        } while (line.kind != LineEditor::Line::Kind::end);
    }

    int terminal_ = -1, report_ = -1;
    termios at_start_{};
    pid_t child_ = -1;
    int n_prompt_ = 0;
};

TEST(LineEditor, LinesInterruptsTheEndAndTheHistory) {
    const std::string history = testing::TempDir() + "freetoken-history-test";
    std::remove(history.c_str());
    {
        EditorOnATerminal editor(history);
        editor.wait_for_prompt();
        editor.type("hi\xe7\x94\xa8\xf0\x9f\x99\x82x\x7f\n");  // the last letter rubbed out
        EXPECT_EQ(editor.next_report(), "0:hi\xe7\x94\xa8\xf0\x9f\x99\x82");
        editor.wait_for_prompt();
        editor.type("half\x03");
        EXPECT_EQ(editor.next_report(), "1:");
        editor.wait_for_prompt();
        editor.type("\x1b[A!\n");  // the line before, and one letter more
        EXPECT_EQ(editor.next_report(), "0:hi\xe7\x94\xa8\xf0\x9f\x99\x82!");
        editor.wait_for_prompt();
        editor.type("\x04");
        EXPECT_EQ(editor.next_report(), "2:");
    }
    struct stat info{};
    ASSERT_EQ(stat(history.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    {
        EditorOnATerminal editor(history);
        editor.wait_for_prompt();
        editor.type("\x1b[A\n");
        EXPECT_EQ(editor.next_report(), "0:hi\xe7\x94\xa8\xf0\x9f\x99\x82!");
        editor.wait_for_prompt();
        editor.type("\x04");
        EXPECT_EQ(editor.next_report(), "2:");
    }
    std::remove(history.c_str());
}

// What a shell needs to find: single keys are given back as lines, also by a signal.
class Signalled : public testing::TestWithParam<int> {};

TEST_P(Signalled, EndsTheProgramAndGivesTheTerminalBack) {
    EditorOnATerminal editor("");
    const termios& before = editor.at_start();
    editor.wait_for_prompt();
    EXPECT_EQ(editor.mode().c_lflag & ICANON, 0u);
    editor.type("half");
    ASSERT_EQ(kill(editor.child(), GetParam()), 0);
    int status = 0;
    ASSERT_EQ(waitpid(editor.child(), &status, 0), editor.child());
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), GetParam());
    EXPECT_EQ(editor.mode().c_lflag, before.c_lflag);
    editor.gone();
}

INSTANTIATE_TEST_SUITE_P(LineEditor, Signalled, testing::Values(SIGTERM, SIGHUP, SIGQUIT));

TEST(LineEditor, AStoppedChatGivesTheTerminalBackAndGoesOn) {
    EditorOnATerminal editor("");
    const termios& before = editor.at_start();
    editor.wait_for_prompt();
    editor.type("one ");
    // Stopped by a signal that no process can take, after what Ctrl-Z does has been undone by a shell.
    ASSERT_EQ(kill(editor.child(), SIGSTOP), 0);
    int status = 0;
    ASSERT_EQ(waitpid(editor.child(), &status, WUNTRACED), editor.child());
    ASSERT_TRUE(WIFSTOPPED(status));
    editor.set_mode(before);
    ASSERT_EQ(kill(editor.child(), SIGCONT), 0);
    editor.wait_for_keys();
    editor.type("two\r");
    EXPECT_EQ(editor.next_report(), "0:one two");
    editor.wait_for_prompt();
    editor.type("\x04");
    EXPECT_EQ(editor.next_report(), "2:");
}

TEST(LineEditor, WhatEndsAnIncompleteCharacterCounts) {
    EditorOnATerminal editor("");
    for (const char* incomplete : {"hi\xe4\xbd", "hi\xc3", "hi\xf0\x9f\x99"}) {
        editor.wait_for_prompt();
        editor.type(std::string(incomplete) + "\r");
        EXPECT_EQ(editor.next_report(), "0:hi\xef\xbf\xbd");
    }
    editor.wait_for_prompt();
    editor.type("\xe4\xbd\xc3\xa9!\r");
    EXPECT_EQ(editor.next_report(), "0:\xef\xbf\xbd\xc3\xa9!");
    editor.wait_for_prompt();
    editor.type("\xe4\x04");
    editor.type("\x15\x04");
    EXPECT_EQ(editor.next_report(), "2:");
}

TEST(LineEditor, WhatIsPastedIsOneLine) {
    EditorOnATerminal editor("");
    editor.wait_for_prompt();
    editor.type("say \x1b[200~one\rtwo\x1b[31m\x07\n\nthree\r\x1b[201~!\r");
    EXPECT_EQ(editor.next_report(), "0:say one");
    EXPECT_EQ(editor.next_report(), "two[31m");
    EXPECT_EQ(editor.next_report(), "");
    EXPECT_EQ(editor.next_report(), "three!");
    editor.wait_for_prompt();
    editor.type("\x04");
    EXPECT_EQ(editor.next_report(), "2:");
}

TEST(HistoryPath, IsInTheUsersDataFolder) {
    const std::string folder = testing::TempDir() + "freetoken-data-test";
    setenv("XDG_DATA_HOME", folder.c_str(), 1);
    EXPECT_EQ(history_path(), folder + "/freetoken/history");
    EXPECT_TRUE(std::filesystem::is_directory(folder + "/freetoken"));
    std::filesystem::remove_all(folder);
    setenv("XDG_DATA_HOME", "relative", 1);
    setenv("HOME", folder.c_str(), 1);
    EXPECT_EQ(history_path(), folder + "/.local/share/freetoken/history");
    std::filesystem::remove_all(folder);
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    EXPECT_EQ(history_path(), "");
}

}  // namespace
}  // namespace ft::cli
