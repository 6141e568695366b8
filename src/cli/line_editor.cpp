#include "cli/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/signals_blocked.h"
#include "base/utf8.h"
#include "cli/history_file.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace ft::cli {

namespace {

constexpr wchar_t k_show_again = L'\x1f';  // Ctrl-_: the line is shown anew
constexpr size_t k_longest_paste = size_t{1} << 20;
constexpr std::string_view k_paste_end = "\x1b[201~";

// A byte of the terminal. False: its end, or Ctrl-C. A signal that comes after its flag was looked at ends
// the wait all the same, because only the wait lets it in.
bool read_byte(char& byte) {
    const SignalsBlocked blocked{SIGINT, SIGCONT};  // that end or renew a line
    for (;;) {
        if (interrupted().load() || TerminalGuard::was_continued()) return false;
        pollfd input{STDIN_FILENO, POLLIN, 0};
        if (::ppoll(&input, 1, nullptr, &blocked.before()) < 0) {
            if (errno != EINTR) return false;
            continue;
        }
        const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
        if (got >= 0 || errno != EINTR) return got == 1;
    }
}

}  // namespace

struct LineEditor::State {
    EditLine* editor = nullptr;
    History* history = nullptr;
    HistoryFile file{""};
    FILE* shown = nullptr;
    std::string prompt;
    std::optional<char> unread;  // the byte that ended an incomplete character: it begins the next

    static State& of(EditLine* editor) {
        void* data = nullptr;
        el_get(editor, EL_CLIENTDATA, &data);
        return *static_cast<State*>(data);
    }
    void enter(const std::string& line) {
        HistEvent event;
        ::history(history, &event, H_ENTER, (line + "\n").c_str());
    }
    // The first failure is said, and nothing more is kept.
    void give_up(const Error& error) {
        log("warn", "{}", error.sentence());
        file = HistoryFile("");
    }
    // Saved at once: a closed window ends the process by a signal.
    void remember(const std::string& line) {
        enter(line);
        if (const Status kept = file.append(line); !kept) give_up(kept.error());
    }
    static char* show_prompt(EditLine* editor) { return of(editor).prompt.data(); }

    // One character of UTF-8 from the terminal. Ctrl-C, which interrupts the read, ends the line: the
    // library's own function would go on reading.
    static int read_character(EditLine* editor, wchar_t* out) {
        std::optional<char>& unread = of(editor).unread;
        std::mbstate_t state{};
        bool begun = false;
        TerminalGuard::keys_are_read();
        for (;;) {
            char byte = unread.value_or(0);
            if (!std::exchange(unread, std::nullopt) && !read_byte(byte)) {
                if (!TerminalGuard::take_continued()) return interrupted().load() ? -1 : 0;
                *out = k_show_again;
                return 1;
            }
            const size_t length = std::mbrtowc(out, &byte, 1, &state);
            if (length == static_cast<size_t>(-2)) {  // more bytes belong to it
                begun = true;
                continue;
            }
            if (length == static_cast<size_t>(-1)) {
                *out = L'\uFFFD';
                if (begun) unread = byte;
            }
            return 1;
        }
    }

    // What is pasted becomes a part of the line, with its newlines; control characters are left out.
    static unsigned char paste(EditLine* editor, int) {
        std::string text;
        char byte = 0;
        while (!text.ends_with(k_paste_end) && read_byte(byte)) {
            text += byte == '\r' ? '\n' : byte;
            if (text.size() > k_longest_paste + k_paste_end.size()) text.erase(k_longest_paste, 1);
        }
        if (text.ends_with(k_paste_end)) text.resize(text.size() - k_paste_end.size());
        text = mend_utf8(text);
        std::erase_if(text, [](char c) {
            const auto code = static_cast<unsigned char>(c);
            return (code < 0x20 && c != '\n' && c != '\t') || code == 0x7F;
        });
        while (text.ends_with('\n')) text.pop_back();
        return text.empty() || el_insertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    }
};

LineEditor::LineEditor(std::string history_path) : state_(std::make_unique<State>()) {
    state_->file = HistoryFile(std::move(history_path));
    state_->shown = isatty(STDOUT_FILENO) ? stdout : stderr;
    state_->editor = el_init("freetoken", stdin, state_->shown, stderr);
    state_->history = history_init();
    HistEvent event;
    history(state_->history, &event, H_SETSIZE, static_cast<int>(k_history_entries));
    history(state_->history, &event, H_SETUNIQUE, 1);
    if (const auto entries = state_->file.read(); !entries) state_->give_up(entries.error());
    else
        for (const std::string& entry : *entries) state_->enter(entry);
    el_set(state_->editor, EL_CLIENTDATA, state_.get());
    el_set(state_->editor, EL_PROMPT, &State::show_prompt);
    el_set(state_->editor, EL_EDITOR, "emacs");
    el_set(state_->editor, EL_HIST, history, state_->history);
    el_set(state_->editor, EL_GETCFN, &State::read_character);
    el_set(state_->editor, EL_ADDFN, "paste-text", "takes what the terminal pastes", &State::paste);
    el_set(state_->editor, EL_BIND, "\x1b[200~", "paste-text", nullptr);
    el_set(state_->editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(state_->editor, EL_BIND, "^_", "ed-redisplay", nullptr);
}

LineEditor::~LineEditor() {
    history_end(state_->history);
    el_end(state_->editor);
}

LineEditor::Line LineEditor::read(const std::string& prompt) {
    state_->prompt = prompt;
    clear_interrupt();
    int length = 0;
    const char* line = nullptr;
    {
        std::fflush(state_->shown);
        const TerminalGuard guard(STDIN_FILENO, fileno(state_->shown));
        line = el_gets(state_->editor, &length);
        std::fflush(state_->shown);
    }
    if (interrupted().load()) {
        clear_interrupt();
        state_->unread.reset();
        el_reset(state_->editor);
        return {Line::Kind::interrupted, ""};
    }
    if (!line || length <= 0) return {Line::Kind::end, ""};
    std::string text(line, static_cast<size_t>(length));
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (!text.empty()) state_->remember(text);
    return {Line::Kind::text, std::move(text)};
}

std::string history_path() {
    const char* data = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    std::filesystem::path folder;
    if (data && *data == '/') folder = data;
    else if (home && *home == '/') folder = std::filesystem::path(home) / ".local/share";
    else return "";
    std::error_code failed;
    std::filesystem::create_directories(folder / "freetoken", failed);
    return failed ? "" : (folder / "freetoken/history").string();
}

}  // namespace ft::cli
