#include "server/tools/tool_call_filter.h"

#include <utility>

#include "server/tools/tag_search.h"

namespace ft {

namespace {

constexpr std::string_view k_tag_open = "<tool_call>", k_tag_close = "</tool_call>", k_xml_open = "<function";
constexpr std::string_view k_fence = "```";
constexpr std::string_view k_fence_words[] = {"", "json", "tool_call", "tool_code"};
constexpr std::string_view k_filter_blanks = " \t\r\n";
constexpr size_t k_longest_name_tag = 256;

size_t skip_filter_blanks(std::string_view text, size_t at) {
    return std::min(text.find_first_not_of(k_filter_blanks, at), text.size());
}

enum class Match { no, partly, yes };

// JSON that may be a call: { and a quoted key, or [ and {.
Match looks_like_call(std::string_view text) {
    const size_t next = skip_filter_blanks(text, 1);
    if (next == text.size()) return Match::partly;
    if (text[0] == '[') return text[next] == '{' ? Match::yes : Match::no;
    return text[next] == '"' || text[next] == '\'' ? Match::yes : Match::no;
}

// "<function=NAME>": complete soon, and in one line.
Match looks_like_function(std::string_view text) {
    if (!may_be_tag(text, k_xml_open)) return Match::no;
    if (text.size() <= k_xml_open.size()) return Match::partly;
    if (text[k_xml_open.size()] != '=' && text[k_xml_open.size()] != ' ') return Match::no;
    const std::string_view tag = text.substr(0, k_longest_name_tag);
    const size_t end = tag.find_first_of(">\n");
    if (end != std::string_view::npos) return tag[end] == '>' ? Match::yes : Match::no;
    return text.size() < k_longest_name_tag ? Match::partly : Match::no;
}

// The size of a fence's first line, "```json\n", in `size`, where what follows may be a call.
Match looks_like_fence(std::string_view text, size_t& size) {
    if (!may_be_tag(text, k_fence)) return Match::no;
    if (text.size() < k_fence.size()) return Match::partly;
    const size_t line_end = text.find('\n');
    std::string_view word = text.substr(k_fence.size(), std::min(line_end, text.size()) - k_fence.size());
    if (word.ends_with('\r')) word.remove_suffix(1);
    bool known = false, begun = false;
    for (const std::string_view fence_word : k_fence_words) {
        known |= word == fence_word;
        begun |= fence_word.starts_with(word);
    }
    if (line_end == std::string_view::npos) return begun ? Match::partly : Match::no;
    size = skip_filter_blanks(text, line_end);
    if (!known) return Match::no;
    if (size == text.size()) return Match::partly;
    return text[size] == '{' || text[size] == '[' ? looks_like_call(text.substr(size)) : Match::no;
}

}  // namespace

// Where something begins that may be a call.
struct ToolCallFilter::Candidate {
    enum class Kind { none, partly, tag, function, json, fence };
    Kind kind = Kind::none;
    size_t at = 0;
    size_t size = 0;  // of the tag, or of the fence's first line
};

ToolCallFilter::Candidate ToolCallFilter::candidate_at(size_t at, bool line_is_blank, bool at_end) const {
    using enum Candidate::Kind;
    const std::string_view rest = std::string_view(waiting_).substr(at);
    const auto found = [&](Match match, Candidate::Kind kind, size_t size) -> Candidate {
        if (match == Match::yes) return {kind, at, size};
        return {match == Match::partly && !at_end ? partly : none, at, 0};
    };
    size_t size = 0;
    switch (rest[0]) {
        case '<':
            if (rest.starts_with(k_tag_open)) return {tag, at, k_tag_open.size()};
            if (may_be_tag(rest, k_tag_open)) return found(Match::partly, tag, 0);
            return found(looks_like_function(rest), function, 0);
        case '{':
        case '[':
            return line_is_blank ? found(looks_like_call(rest), json, 0) : Candidate{};
        case '`': {
            const Match match = line_is_blank ? looks_like_fence(rest, size) : Match::no;
            return found(match, fence, size);
        }
        default:
            return {};
    }
}

ToolCallFilter::Candidate ToolCallFilter::next_candidate(bool at_end) const {
    bool blank = line_is_blank_;
    for (size_t at = 0; at < waiting_.size(); at++) {
        const Candidate candidate = candidate_at(at, blank, at_end);
        if (candidate.kind != Candidate::Kind::none) return candidate;
        if (waiting_[at] == '\n') blank = true;
        else if (k_filter_blanks.find(waiting_[at]) == std::string_view::npos) blank = false;
    }
    return {Candidate::Kind::none, waiting_.size(), 0};
}

void ToolCallFilter::push(std::string_view text, bool at_end, std::vector<AnswerPiece>& out) {
    waiting_ += text;
    while (advance(at_end, out)) {
    }
}

// One step; false: more text is needed.
bool ToolCallFilter::advance(bool at_end, std::vector<AnswerPiece>& out) {
    switch (state_) {
        case State::text:
            return read_text(at_end, out);
        case State::tagged:
            return read_tagged(at_end, out);
        case State::json:
            return read_json(at_end, out);
        case State::xml:
            return read_xml(at_end, out);
        case State::after_call:
            return read_after_call(at_end);
    }
    return false;
}

bool ToolCallFilter::read_text(bool at_end, std::vector<AnswerPiece>& out) {
    const Candidate candidate = next_candidate(at_end);
    // Blanks at the end wait: they may stand before a call.
    size_t text_end = candidate.at;
    const bool all = at_end && candidate.kind == Candidate::Kind::none;
    while (!all && text_end > 0 && k_filter_blanks.find(waiting_[text_end - 1]) != std::string_view::npos)
        text_end--;
    tell_text(waiting_.substr(0, text_end), out);
    blanks_ = waiting_.substr(text_end, candidate.at - text_end);
    if (candidate.kind == Candidate::Kind::none || candidate.kind == Candidate::Kind::partly) {
        waiting_.erase(0, text_end);
        blanks_.clear();
        return false;
    }
    raw_ = waiting_.substr(candidate.at, candidate.size);
    waiting_.erase(0, candidate.at + candidate.size);
    tagged_ = candidate.kind == Candidate::Kind::tag;
    fenced_ = candidate.kind == Candidate::Kind::fence;
    if (tagged_) state_ = State::tagged;
    else if (candidate.kind == Candidate::Kind::function) begin_xml();
    else begin_json(false);
    return true;
}

bool ToolCallFilter::read_tagged(bool at_end, std::vector<AnswerPiece>& out) {
    const size_t start = skip_filter_blanks(waiting_, 0);
    raw_ += waiting_.substr(0, start);
    waiting_.erase(0, start);
    if (waiting_.empty() && !at_end) return false;
    const std::string_view rest = waiting_;
    size_t fence_size = 0;
    if (rest.starts_with('{') || rest.starts_with('[')) return begin_json(true), true;
    const Match function = looks_like_function(rest), fence = looks_like_fence(rest, fence_size);
    if (!at_end && !rest.empty() && (function == Match::partly || fence == Match::partly)) return false;
    if (!rest.empty() && function == Match::yes) return begin_xml(), true;
    if (!rest.empty() && fence == Match::yes) {
        raw_ += waiting_.substr(0, fence_size);
        waiting_.erase(0, fence_size);
        fenced_ = true;
        return begin_json(true), true;
    }
    be_text(out);
    return !waiting_.empty();
}

void ToolCallFilter::begin_json(bool tagged) {
    scanner_.emplace(tagged ? nullptr : &rules_);
    state_ = State::json;
}

void ToolCallFilter::begin_xml() {
    xml_.emplace(rules_);
    state_ = State::xml;
}

bool ToolCallFilter::read_json(bool at_end, std::vector<AnswerPiece>& out) {
    const size_t taken = scanner_->push(waiting_);
    raw_ += waiting_.substr(0, taken);
    waiting_.erase(0, taken);
    if (at_end && !scanner_->done() && scanner_->verdict() != CallScanner::Verdict::none) scanner_->finish();
    if (scanner_->verdict() == CallScanner::Verdict::none) return be_text(out), !waiting_.empty();
    if (scanner_->verdict() == CallScanner::Verdict::open) return false;
    tell(scanner_->take_events(), out);
    if (!scanner_->done()) return false;
    state_ = State::after_call;
    return true;
}

bool ToolCallFilter::read_xml(bool at_end, std::vector<AnswerPiece>& out) {
    std::vector<CallEvent> events;
    xml_->read(waiting_, at_end, events);
    tell(std::move(events), out);
    if (!xml_->done()) return false;
    state_ = State::after_call;
    return true;
}

// Skips what closes a call, and a bracket too many.
bool ToolCallFilter::read_after_call(bool at_end) {
    raw_.clear();
    size_t at = 0;
    for (;;) {
        const size_t before_blanks = at;
        at = skip_filter_blanks(waiting_, at);
        const std::string_view rest = std::string_view(waiting_).substr(at);
        if (rest.empty()) {
            waiting_.erase(0, before_blanks);
            if (at_end) waiting_.clear();
            return false;
        }
        if (rest.starts_with(k_tag_close)) {
            at += k_tag_close.size();
            tagged_ = false;
        } else if (rest[0] == '}' || rest[0] == ']' || rest[0] == ',' || rest[0] == ';') {
            at++;
        } else if (fenced_ && rest.starts_with(k_fence)) {
            at += k_fence.size();
            fenced_ = false;
        } else if (!at_end && (k_tag_close.starts_with(rest) || (fenced_ && k_fence.starts_with(rest)))) {
            waiting_.erase(0, before_blanks);
            return false;
        } else if (tagged_ && (rest[0] == '{' || rest[0] == '[')) {
            waiting_.erase(0, at);
            return begin_json(true), true;
        } else {
            waiting_.erase(0, before_blanks);
            state_ = State::text;
            line_is_blank_ = true;
            return true;
        }
    }
}

// What seemed to be a call is none.
void ToolCallFilter::be_text(std::vector<AnswerPiece>& out) {
    tell_text(std::exchange(blanks_, "") + std::exchange(raw_, ""), out);
    state_ = State::text;
}

void ToolCallFilter::tell_text(std::string text, std::vector<AnswerPiece>& out) {
    if (text.empty()) return;
    const size_t line = text.rfind('\n');
    const std::string_view last = std::string_view(text).substr(line == std::string::npos ? 0 : line + 1);
    const bool blank = last.find_first_not_of(k_filter_blanks) == std::string_view::npos;
    line_is_blank_ = blank && (line != std::string::npos || line_is_blank_);
    if (!out.empty() && out.back().kind == AnswerPiece::Kind::text) out.back().text += text;
    else out.push_back({.choice = choice_, .kind = AnswerPiece::Kind::text, .text = std::move(text)});
}

void ToolCallFilter::tell(std::vector<CallEvent> events, std::vector<AnswerPiece>& out) {
    if (!events.empty()) blanks_.clear();
    for (CallEvent& event : events) {
        if (event.kind == CallEvent::Kind::begin) n_calls_++;
        if (n_calls_ > 1 && !rules_.parallel) continue;
        AnswerPiece piece{.choice = choice_, .text = std::move(event.text), .tool = n_calls_ - 1};
        switch (event.kind) {
            case CallEvent::Kind::begin:
                piece.kind = AnswerPiece::Kind::tool_begin;
                piece.tool_id = fmt::format("call_{:016x}{:02x}{:02x}", rules_.id_seed, choice_, piece.tool);
                break;
            case CallEvent::Kind::arguments:
                piece.kind = AnswerPiece::Kind::tool_arguments;
                break;
            case CallEvent::Kind::end:
                piece.kind = AnswerPiece::Kind::tool_end;
                break;
        }
        if (piece.kind == AnswerPiece::Kind::tool_arguments && !out.empty() &&
            out.back().kind == piece.kind && out.back().tool == piece.tool)
            out.back().text += piece.text;
        else out.push_back(std::move(piece));
    }
}

}  // namespace ft
