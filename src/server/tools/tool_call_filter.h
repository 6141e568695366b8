// Finds the calls of functions in an answer's text, while it comes. Forms:
//
//   <tool_call>{"name": …, "arguments": {…}}</tool_call>                  Hermes, Qwen
//   <tool_call><function=…><parameter=…>…</parameter></function></tool_call>    Qwen3-Coder; also without
//   <tool_call>
//   {"name": …}, [{"name": …}, …], ```json … ```                          at the beginning of a line, of a
//   known function
//
// What only looked like a call is text, unchanged. Blanks around calls are left out. Nothing is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/endpoint_call.h"
#include "server/tools/call_scanner.h"
#include "server/tools/xml_call.h"

namespace ft {

class ToolCallFilter {
 public:
    // choice: of the pieces that are told. The rules must outlive this.
    ToolCallFilter(const ToolRules& rules, size_t choice) : rules_(rules), choice_(choice) {}

    // Text in any cuts, and at the end at_end with what is left.
    void push(std::string_view text, bool at_end, std::vector<AnswerPiece>& out);
    bool called() const { return n_calls_ > 0; }

 private:
    enum class State {
        text,
        tagged,      // after <tool_call>
        json,        // in what may be a call in JSON
        xml,         // in <function=…>
        after_call,  // blanks, closing tags, or a further call
    };
    struct Candidate;

    bool advance(bool at_end, std::vector<AnswerPiece>& out);
    bool read_text(bool at_end, std::vector<AnswerPiece>& out);
    bool read_tagged(bool at_end, std::vector<AnswerPiece>& out);
    bool read_json(bool at_end, std::vector<AnswerPiece>& out);
    bool read_xml(bool at_end, std::vector<AnswerPiece>& out);
    bool read_after_call(bool at_end);
    Candidate next_candidate(bool at_end) const;
    Candidate candidate_at(size_t at, bool line_is_blank, bool at_end) const;
    void begin_json(bool tagged);
    void begin_xml();
    void be_text(std::vector<AnswerPiece>& out);
    void tell_text(std::string text, std::vector<AnswerPiece>& out);
    void tell(std::vector<CallEvent> events, std::vector<AnswerPiece>& out);

    const ToolRules& rules_;
    size_t choice_;
    State state_ = State::text;
    std::string waiting_;        // not read yet
    std::string blanks_;         // before what may be a call: text, where it is none
    std::string raw_;            // of what may be a call, as it was written
    bool line_is_blank_ = true;  // what was told of this line so far
    bool tagged_ = false, fenced_ = false;
    std::optional<CallScanner> scanner_;
    std::optional<XmlCall> xml_;
    size_t n_calls_ = 0;
};

}  // namespace ft
