#include "server/tools/json_mender.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "server/tools/typed_value.h"

namespace ft {

namespace {

bool is_json_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view literal_of(std::string_view word) {
    constexpr std::pair<std::string_view, std::string_view> k_literals[] = {
        {"true", "true"}, {"True", "true"}, {"false", "false"},    {"False", "false"},
        {"null", "null"}, {"None", "null"}, {"undefined", "null"}, {"NaN", "null"},
    };
    for (const auto& [written, meant] : k_literals)
        if (word == written) return meant;
    return {};
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

size_t JsonMender::push(std::string_view text, std::string& out) {
    size_t at = 0;
    while (at < text.size() && state_ != State::done)
        if (take(text[at], out)) at++;
    return at;
}

void JsonMender::finish(std::string& out) {
    if (state_ == State::escape) state_ = State::text;
    if (state_ == State::code) {
        drop_surrogate(out);
        out += "\\ufffd";
        state_ = State::text;
    }
    if (state_ == State::text || state_ == State::closing_quote) {
        drop_surrogate(out);
        waiting_.clear();
        out += '"';
        if (is_key_) state_ = State::colon;
        else end_value();
    }
    if (state_ == State::word) end_word(out);
    if (state_ == State::colon) out += ": null", end_value();
    if (state_ == State::value) out += "null", end_value();
    while (!open_.empty()) pop(out);
    state_ = State::done;
}

bool JsonMender::take(char c, std::string& out) {
    switch (state_) {
        case State::text:
            return take_text(c, out);
        case State::escape:
            return take_escape(c, out);
        case State::code:
            return take_code(c, out);
        case State::closing_quote:
            return take_closing_quote(c, out);
        case State::word:
            return take_word(c, out);
        default:
            return is_json_blank(c) || take_structure(c, out);
    }
}

bool JsonMender::take_structure(char c, std::string& out) {
    switch (state_) {
        case State::start:
            if (c == '{' || c == '[') return open(c, out), true;
            state_ = State::done;
            return false;
        case State::key_or_end:
        case State::key:
            return take_key(c, out);
        case State::colon:
            if (c == ',' || c == '}') {
                out += ": null";
                end_value();
                return false;
            }
            out += ": ";
            state_ = State::value;
            return c == ':' || c == '=';
        case State::value:
        case State::value_or_end:
        case State::item:
            return take_value(c, out);
        default:  // comma_or_end
            if (c == ',') comma_ = true, state_ = in_object() ? State::key : State::item;
            else if (c == '}' || c == ']') close(c, out);
            else if (c != ':') {  // a comma is missing
                comma_ = true;
                state_ = in_object() ? State::key : State::item;
                return false;
            }
            return true;
    }
}

bool JsonMender::take_key(char c, std::string& out) {
    if (c == '}') return close(c, out), true;
    if (c == ',' || c == ']' || c == ':' || c == '{' || c == '[')
        return true;  // nothing that a key begins with
    if (c == '"' || c == '\'') return begin_text(c, true, out), true;
    is_key_ = true;
    state_ = State::word;
    return false;
}

bool JsonMender::take_value(char c, std::string& out) {
    if (c == '{' || c == '[') return open(c, out), true;
    if (c == '"' || c == '\'') return begin_text(c, false, out), true;
    if (state_ == State::value && (c == ',' || c == '}' || c == ']')) {
        out += "null";
        end_value();
        return false;
    }
    if (c == ',' || c == ':') return true;
    if (c == '}' || c == ']') return close(c, out), true;
    is_key_ = false;
    state_ = State::word;
    return false;
}

void JsonMender::begin_text(char quote, bool key, std::string& out) {
    if (std::exchange(comma_, false)) out += ", ";
    out += '"';
    quote_ = quote;
    is_key_ = key;
    state_ = State::text;
}

bool JsonMender::take_text(char c, std::string& out) {
    if (c == '\\') state_ = State::escape;
    else if (c == quote_) state_ = State::closing_quote;
    else append(c, out);
    return true;
}

void JsonMender::append(char c, std::string& out) {
    drop_surrogate(out);
    out += json_escaped({&c, 1});
}

bool JsonMender::take_escape(char c, std::string& out) {
    state_ = State::text;
    if (c == 'u') {
        waiting_.clear();
        state_ = State::code;
        return true;
    }
    drop_surrogate(out);
    if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) out += '\\', out += c;
    else if (c == '\'' || c == '\n') append(c, out);
    else append('\\', out), append(c, out);  // \d of a pattern, say
    return true;
}

bool JsonMender::take_code(char c, std::string& out) {
    if (!is_hex(c)) {  // \u without its digits
        append('\\', out);
        out += 'u' + std::exchange(waiting_, "");
        state_ = State::text;
        return false;
    }
    waiting_ += c;
    if (waiting_.size() < 4) return true;
    const unsigned long code = std::stoul(waiting_, nullptr, 16);
    state_ = State::text;
    if (code >= 0xD800 && code < 0xDC00) {
        drop_surrogate(out);
        surrogate_ = std::exchange(waiting_, "");
    } else if (code >= 0xDC00 && code < 0xE000 && !surrogate_.empty()) {
        out += "\\u" + std::exchange(surrogate_, "") + "\\u" + std::exchange(waiting_, "");
    } else {
        drop_surrogate(out);
        out += code >= 0xDC00 && code < 0xE000 ? "\\ufffd" : "\\u" + waiting_;
        waiting_.clear();
    }
    return true;
}

void JsonMender::drop_surrogate(std::string& out) {
    if (surrogate_.empty()) return;
    out += "\\ufffd";
    surrogate_.clear();
}

// A quote ends the string where what follows says so; else it belongs to it.
bool JsonMender::take_closing_quote(char c, std::string& out) {
    if (is_json_blank(c)) return waiting_ += c, true;
    const bool ends =
        is_key_ ? c == ':' || c == '=' || c == ',' || c == '}' : c == ',' || c == '}' || c == ']';
    if (!ends) {
        append(quote_, out);
        for (const char blank : std::exchange(waiting_, "")) append(blank, out);
        state_ = State::text;
        return false;
    }
    waiting_.clear();
    drop_surrogate(out);
    out += '"';
    if (is_key_) state_ = State::colon;
    else end_value();
    return false;
}

bool JsonMender::take_word(char c, std::string& out) {
    const bool ends = is_key_ ? c == ':' || c == '=' || c == ',' || c == '}'
                              : c == ',' || c == '}' || c == ']' || c == '\n' || c == '\r';
    if (!ends) return waiting_ += c, true;
    end_word(out);
    return false;
}

void JsonMender::end_word(std::string& out) {
    std::string word = std::exchange(waiting_, "");
    word.erase(std::find_if_not(word.rbegin(), word.rend(), is_json_blank).base(), word.end());
    if (std::exchange(comma_, false)) out += ", ";
    const std::string_view literal = literal_of(word);
    if (!is_key_ && !literal.empty()) out += literal;
    else if (!is_key_ && is_json_number(word)) out += word;
    else {
        out += '"';
        for (const char c : word) append(c, out);
        out += '"';
    }
    if (is_key_) state_ = State::colon;
    else end_value();
}

void JsonMender::open(char bracket, std::string& out) {
    if (open_.size() == k_deepest_mended) {
        if (state_ == State::value) out += "null";
        end_value();
        return finish(out);
    }
    if (std::exchange(comma_, false)) out += ", ";
    out += bracket;
    open_.push_back(bracket);
    state_ = bracket == '{' ? State::key_or_end : State::value_or_end;
}

// Closes the innermost bracket of this kind and all in it; nothing where there is none.
void JsonMender::close(char bracket, std::string& out) {
    const char opened = bracket == '}' ? '{' : '[';
    if (std::find(open_.begin(), open_.end(), opened) == open_.end()) return;
    while (open_.back() != opened) pop(out);
    pop(out);
}

void JsonMender::pop(std::string& out) {
    out += in_object() ? '}' : ']';
    open_.pop_back();
    end_value();
}

void JsonMender::end_value() {
    comma_ = false;
    state_ = open_.empty() ? State::done : State::comma_or_end;
}

}  // namespace ft
