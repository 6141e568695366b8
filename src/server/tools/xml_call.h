// Reads one call in the form of Qwen3-Coder, while it comes:
//
//   <function=NAME>
//   <parameter=KEY>
//   value
//   </parameter>
//   </function>
//
// also as <function name="NAME">, and with closing tags that are missing. Arguments are told as JSON, each
// value in the type that the function's schema gives it; texts as they come, other values once they are
// complete.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/tools/call_scanner.h"

namespace ft {

class XmlCall {
 public:
    explicit XmlCall(const ToolRules& rules) : rules_(rules) {}

    // Takes from the front of `waiting` what belongs to the call and is complete, and says what it was. The
    // text begins with "<function". at_end: no more will come; then everything is taken.
    void read(std::string& waiting, bool at_end, std::vector<CallEvent>& events);
    bool done() const { return state_ == State::done; }

 private:
    enum class State { function, between, value, done };

    bool read_function(std::string& waiting, bool at_end, std::vector<CallEvent>& events);
    bool read_between(std::string& waiting, bool at_end, std::vector<CallEvent>& events);
    bool read_value(std::string& waiting, bool at_end, std::vector<CallEvent>& events);
    void begin_parameter(std::string key, std::vector<CallEvent>& events);
    void tell_value(std::string_view text, bool complete, std::vector<CallEvent>& events);
    void end(std::vector<CallEvent>& events);

    const ToolRules& rules_;
    State state_ = State::function;
    const Tool* tool_ = nullptr;
    int n_parameters_ = 0;
    std::vector<std::string> types_;  // of the value that is read
    bool as_it_comes_ = false;        // it is a text
    bool at_start_ = false;           // of the value
    std::string value_;               // so far, where it does not go out as it comes
};

}  // namespace ft
