#include "text/think_filter.h"

#include <algorithm>
#include <utility>

namespace ft {

namespace {

constexpr std::string_view k_open = "<think>", k_close = "</think>", k_blank = " \t\r\n";

// The length of the longest end of `text` that begins `tag`.
size_t begun_tag(std::string_view text, std::string_view tag) {
    for (size_t n = std::min(text.size(), tag.size() - 1); n > 0; n--)
        if (text.ends_with(tag.substr(0, n))) return n;
    return 0;
}

void skip_blanks(std::string& text) { text.erase(0, std::min(text.find_first_not_of(k_blank), text.size())); }

std::string_view without_blanks(std::string_view text) {
    return text.substr(0, text.find_last_not_of(k_blank) + 1);
}

void emit(std::vector<Piece>& out, bool thinking, std::string text) {
    if (text.empty()) return;
    if (!out.empty() && out.back().thinking == thinking) out.back().text += text;
    else out.push_back({thinking, std::move(text)});
}

}  // namespace

std::vector<Piece> ThinkFilter::push(std::string_view text) {
    waiting_ += text;
    std::vector<Piece> out;
    advance(out, false);
    return out;
}

std::vector<Piece> ThinkFilter::finish() {
    std::vector<Piece> out;
    advance(out, true);
    emit(out, state_ == State::thinking, std::exchange(waiting_, ""));
    return out;
}

void ThinkFilter::advance(std::vector<Piece>& out, bool at_end) {
    if (state_ == State::before) {
        const size_t start = std::min(waiting_.find_first_not_of(k_blank), waiting_.size());
        const std::string_view rest = std::string_view(waiting_).substr(start);
        if (rest.starts_with(k_open)) {
            waiting_.erase(0, start + k_open.size());
            state_ = State::opened;
        } else if (!at_end && k_open.starts_with(rest)) {
            return;  // blanks alone, or a tag that has begun
        } else {
            state_ = State::answer;
        }
    }
    if (state_ == State::opened) {
        skip_blanks(waiting_);
        if (waiting_.empty()) return;
        state_ = State::thinking;
    }
    if (state_ == State::thinking) {
        const size_t close = waiting_.find(k_close);
        if (close == std::string::npos) {
            const size_t keep = at_end ? 0 : begun_tag(waiting_, k_close);
            emit(out, true, waiting_.substr(0, waiting_.size() - keep));
            waiting_.erase(0, waiting_.size() - keep);
            return;
        }
        emit(out, true, waiting_.substr(0, close));
        waiting_.erase(0, close + k_close.size());
        state_ = State::after_thinking;
    }
    if (state_ == State::after_thinking) {
        skip_blanks(waiting_);
        if (waiting_.empty()) return;
        state_ = State::answer;
    }
    emit(out, false, std::exchange(waiting_, ""));
}

bool opens_thinking(std::string_view prompt) { return without_blanks(prompt).ends_with(k_open); }
bool closes_thinking(std::string_view prompt) { return without_blanks(prompt).ends_with(k_close); }

}  // namespace ft
