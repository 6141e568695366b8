// Lines typed on a terminal: editing, history across sessions, UTF-8.
#pragma once

#include <memory>
#include <string>

namespace ft::cli {

class LineEditor {
 public:
    struct Line {
        enum class Kind { text, interrupted /* Ctrl-C */, end /* Ctrl-D on an empty line */ };
        Kind kind;
        std::string text;  // without the newline
    };

    // history_path: kept between sessions, readable by the user alone; "" for none.
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
