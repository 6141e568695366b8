// Lines typed on a terminal: editing, history across sessions (cli/history_file.h), UTF-8. What is pasted is
// one line, whatever newlines it has. The terminal is given back as it was when a signal ends or stops the
// program.
#pragma once

#include <memory>
#include <string>

namespace ft::cli {

class LineEditor {
 public:
    struct Line {
        enum class Kind { text, interrupted /* Ctrl-C */, end /* Ctrl-D on an empty line */ };
        Kind kind;
        std::string text;  // without the newline at its end
    };

    // history_path: "" for none. What keeps it from being read or written is said once on stderr.
    explicit LineEditor(std::string history_path);
    ~LineEditor();

    Line read(const std::string& prompt);

 private:
    struct State;
    std::unique_ptr<State> state_;
};

// $XDG_DATA_HOME/freetoken/history, or ~/.local/share/freetoken/history; the folder is made. "" where there
// is no home.
std::string history_path();

}  // namespace ft::cli
