// The conversation on a terminal: lines, the /commands, and what goes to the model. Knows neither the model
// nor the terminal: both come as functions, so that a test can be both.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "cli/line_editor.h"

namespace ft::cli {

struct ChatHooks {
    std::function<LineEditor::Line(const std::string& prompt)> read_line;
    std::function<void(const std::string& line)> say;       // a line for the user that is not the model's
    std::function<Status(const std::string& text)> answer;  // one turn; an error ends the chat
    std::function<void()> reset;                            // forget the conversation
    std::function<std::string()> stats;                     // lines
    std::function<std::string()> system;                    // the system prompt in force, "" for none
    std::function<void(const std::string& text)> set_system;
    // Changes a setting of answers; without a value it is shown, without a name all are. Lines: what holds
    // now.
    std::function<std::string(const std::string& name, const std::string& value)> set;
    std::function<std::string(const std::string& path)> save;  // a line: what was done, or why not
    std::function<std::string(const std::string& path)> load;
};

// Until Ctrl-D or /exit: then 0.
Expected<int> run_chat(const ChatHooks& hooks);

}  // namespace ft::cli
