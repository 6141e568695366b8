#include "cli/terminal.h"

#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace ft::cli {

namespace {

constexpr std::array k_signals = {SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGINT};

// Of the one guard there is: a signal handler reaches nothing else.
int g_input = -1, g_output = -1;
bool g_marks_pastes = false;
termios g_at_rest{};                          // as the terminal was before the line
termios g_editing{};                          // and while keys are read
volatile std::sig_atomic_t g_is_editing = 0;  // g_editing holds
std::atomic<bool> g_continued{false};
std::array<struct sigaction, k_signals.size()> g_before{};  // what was done at each signal

// Below only calls that POSIX allows in a signal handler.

void unblocked(int signal, int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(how, &set, nullptr);
}

void mark_pastes(bool on) {
    constexpr std::string_view k_on = "\x1b[?2004h", k_off = "\x1b[?2004l";
    const std::string_view text = on ? k_on : k_off;
    if (!g_marks_pastes) return;
    [[maybe_unused]] const ssize_t put = write(g_output, text.data(), text.size());
}

void give_back() {
    mark_pastes(false);
    tcsetattr(g_input, TCSANOW, &g_at_rest);
}

// The program ends as it would have without the guard.
void on_end(int signal) {
    give_back();
    for (size_t i = 0; i < k_signals.size(); i++)
        if (k_signals[i] == signal) sigaction(signal, &g_before[i], nullptr);
    raise(signal);  // delivered when this handler returns
}

void take_again() {
    if (g_is_editing != 0 && tcgetpgrp(g_input) == getpgrp()) {  // in the background it is not ours to set
        tcsetattr(g_input, TCSANOW, &g_editing);
        mark_pastes(true);
    }
    g_continued.store(true, std::memory_order_relaxed);
}

void on_stop(int signal) {
    const int error = errno;
    give_back();
    struct sigaction ours = {}, standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, &ours);
    raise(signal);
    unblocked(signal, SIG_UNBLOCK);  // here the program stops
    unblocked(signal, SIG_BLOCK);
    sigaction(signal, &ours, nullptr);
    take_again();
    errno = error;
}

void on_continue(int) {
    const int error = errno;
    take_again();
    errno = error;
}

// Ctrl-C is taken only where it would end the program: a chat has an answer of its own to it.
bool is_ours(int signal, const struct sigaction& before) {
    if (signal == SIGINT) return before.sa_handler == SIG_DFL;
    return before.sa_handler != SIG_IGN;
}

void take_signals() {
    for (size_t i = 0; i < k_signals.size(); i++) {
        struct sigaction action = {};
        action.sa_handler = k_signals[i] == SIGCONT   ? on_continue
                            : k_signals[i] == SIGTSTP ? on_stop
                                                      : on_end;
        sigfillset(&action.sa_mask);
        sigdelset(&action.sa_mask, SIGCONT);
        sigaction(k_signals[i], nullptr, &g_before[i]);
        if (is_ours(k_signals[i], g_before[i])) sigaction(k_signals[i], &action, nullptr);
    }
}

void leave_signals() {
    for (size_t i = 0; i < k_signals.size(); i++) sigaction(k_signals[i], &g_before[i], nullptr);
}

}  // namespace

bool is_dumb_terminal() {
    const char* name = std::getenv("TERM");
    return name == nullptr || *name == '\0' || std::string_view(name) == "dumb";
}

bool may_style_text() {
    const char* no_color = std::getenv("NO_COLOR");
    return !is_dumb_terminal() && (no_color == nullptr || *no_color == '\0');
}

SilentKeys::SilentKeys(int input) {
    if (tcgetpgrp(input) != getpgrp() || tcgetattr(input, &g_at_rest) != 0) return;
    g_input = input;
    g_marks_pastes = false;
    g_editing = g_at_rest;
    g_editing.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    take_signals();
    g_is_editing = 1;
    tcsetattr(input, TCSANOW, &g_editing);
    on_ = true;
}

SilentKeys::~SilentKeys() {
    if (!on_) return;
    g_is_editing = 0;
    give_back();
    leave_signals();
}

TerminalGuard::TerminalGuard(int input, int output) {
    g_input = input;
    g_output = output;
    g_marks_pastes = !is_dumb_terminal();
    g_is_editing = 0;
    tcgetattr(input, &g_at_rest);
    mark_pastes(true);
    take_signals();
}

TerminalGuard::~TerminalGuard() {
    leave_signals();
    g_is_editing = 0;
    mark_pastes(false);
}

void TerminalGuard::keys_are_read() {
    if (g_is_editing == 0 && tcgetattr(g_input, &g_editing) == 0) g_is_editing = 1;
}

bool TerminalGuard::was_continued() { return g_continued.load(std::memory_order_relaxed); }
bool TerminalGuard::take_continued() { return g_continued.exchange(false, std::memory_order_relaxed); }

}  // namespace ft::cli
