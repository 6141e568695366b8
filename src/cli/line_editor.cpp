#include "cli/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>

#include "cli/interrupt.h"

namespace ft::cli {

namespace {

constexpr int k_history_lines = 1000;

}  // namespace

struct LineEditor::State {
    EditLine* editor = nullptr;
    History* history = nullptr;
    std::string history_path;
    std::string prompt;

    static State& of(EditLine* editor) {
        void* data = nullptr;
        el_get(editor, EL_CLIENTDATA, &data);
        return *static_cast<State*>(data);
    }
    // Saved at once: a closed window ends the process by a signal.
    void remember(const std::string& line) {
        HistEvent event;
        ::history(history, &event, H_ENTER, (line + "\n").c_str());
        if (history_path.empty()) return;
        // made first, so that it is never readable by others
        const int fd = open(history_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0) close(fd);
        ::history(history, &event, H_SAVE, history_path.c_str());
    }

    static char* show_prompt(EditLine* editor) { return of(editor).prompt.data(); }

    // One character of UTF-8 from the terminal. Ctrl-C, which interrupts the read, ends the line: the
    // library's own function would go on reading.
    static int read_character(EditLine*, wchar_t* out) {
        std::mbstate_t state{};
        for (;;) {
            char byte = 0;
            const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
            if (got < 0 && errno == EINTR && !interrupted().load()) continue;  // the window's size changed
            if (got <= 0) return got < 0 ? -1 : 0;
            const size_t length = std::mbrtowc(out, &byte, 1, &state);
            if (length == static_cast<size_t>(-2)) continue;  // more bytes belong to it
            if (length == static_cast<size_t>(-1)) *out = L'\uFFFD';
            return 1;
        }
    }
};

LineEditor::LineEditor(std::string history_path) : state_(std::make_unique<State>()) {
    state_->history_path = std::move(history_path);
    FILE* shown = isatty(STDOUT_FILENO) ? stdout : stderr;
    state_->editor = el_init("freetoken", stdin, shown, stderr);
    state_->history = history_init();
    HistEvent event;
    history(state_->history, &event, H_SETSIZE, k_history_lines);
    history(state_->history, &event, H_SETUNIQUE, 1);
    if (!state_->history_path.empty()) history(state_->history, &event, H_LOAD, state_->history_path.c_str());
    el_set(state_->editor, EL_CLIENTDATA, state_.get());
    el_set(state_->editor, EL_PROMPT, &State::show_prompt);
    el_set(state_->editor, EL_EDITOR, "emacs");
    el_set(state_->editor, EL_HIST, history, state_->history);
    el_set(state_->editor, EL_GETCFN, &State::read_character);
    el_set(state_->editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
}

LineEditor::~LineEditor() {
    history_end(state_->history);
    el_end(state_->editor);
}

LineEditor::Line LineEditor::read(const std::string& prompt) {
    state_->prompt = prompt;
    clear_interrupt();
    int length = 0;
    const char* line = el_gets(state_->editor, &length);
    if (interrupted().load()) {
        clear_interrupt();
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
