// Finds calls of functions in JSON that a model writes, while it comes. Forms:
//
//   {"name": "f", "arguments": {…}}                 also "parameters", "args", "input"; the members in any
//   order
//   {"type": "function", "function": {"name": …}}   also "tool_call", "function_call"
//   [call, call]   {"tool_calls": [call, …]}
//
// Arguments are told as they come, as well-formed JSON (server/tools/json_mender.h). Arguments that are a
// text with JSON in it are unpacked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/tools/json_mender.h"
#include "server/tools/tool_rules.h"

namespace ft {

struct CallEvent {
    enum class Kind { begin, arguments, end };
    Kind kind;
    std::string text = {};  // begin: the function's name; arguments: a part of the JSON
};

class CallScanner {
 public:
    enum class Verdict {
        open,  // may become a call
        call,  // is one: events tell
        none,  // is none: what was pushed is other text
    };

    // known: only calls of these functions count, and only in objects that look like nothing else; nullptr:
    // any name counts, since a tag has said that this is a call.
    explicit CallScanner(const ToolRules* known) : known_(known) {}

    // The bytes taken: fewer than all once done(), or once the verdict is none.
    size_t push(std::string_view text);
    void finish();  // the text ends here
    Verdict verdict() const { return verdict_; }
    bool done() const { return mender_.done(); }
    std::vector<CallEvent> take_events() { return std::exchange(events_, {}); }

 private:
    enum class Role { list, call, part_of_call, other };
    struct Frame {
        Role role;
        bool object;
        bool at_key;
        std::string key;
    };

    void see(char c);
    void see_in_text(char c);
    void open(char c);
    void close(char c);
    Role role_of_child(char bracket) const;
    bool at_arguments() const;
    void end_text();
    void end_scalar();
    void see_key(std::string key);
    void begin_call();
    void argue(std::string_view text);
    void name_call(std::string name);
    void tell_begin();
    void end_call();

    const ToolRules* known_;
    JsonMender mender_;
    Verdict verdict_ = Verdict::open;
    std::vector<CallEvent> events_;
    std::vector<Frame> frames_;
    bool in_text_ = false, escaped_ = false, finishing_ = false;
    std::string text_;         // of a string, as JSON
    std::string scalar_;       // a number or literal
    int arguments_depth_ = 0;  // inside of arguments: brackets that are open

    bool call_open_ = false, begun_ = false, argued_ = false;
    std::string name_;
    std::string early_;  // arguments that came before the name
};

}  // namespace ft
