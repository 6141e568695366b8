// Turns what a model wrote as JSON into JSON, while it comes: one object or list, from any cuts. Mended are
// single quotes, words without quotes, Python's True, False and None, commas that are missing or too many,
// raw line ends and wrong escapes in strings, quotes inside of strings, brackets that are crossed or never
// closed. What is well-formed keeps its meaning; blanks between the tokens become those of `{"a": [1, 2]}`.
// Nesting is bounded: where it is deeper, the value ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ft {

constexpr size_t k_deepest_mended = 64;

class JsonMender {
 public:
    // Takes text until the value is complete and appends JSON to `out`. Returns how many bytes were taken:
    // all of them until done(). The first byte that is no blank is '{' or '['; else the value is "done" and
    // empty.
    size_t push(std::string_view text, std::string& out);
    // The text ends here: closes what is open.
    void finish(std::string& out);
    bool done() const { return state_ == State::done; }

 private:
    enum class State {
        start,          // blanks before the value
        key_or_end,     // after '{'
        key,            // after a comma in an object
        colon,          // after a key
        value,          // after a colon
        value_or_end,   // after '['
        item,           // after a comma in a list
        comma_or_end,   // after a value
        text,           // in a string
        escape,         // after a backslash
        code,           // in the four digits of \u
        closing_quote,  // after a quote that may be the string's end
        word,           // a number, a literal, or a text without quotes
        done,
    };

    bool take(char c, std::string& out);  // false: the byte is still to be taken, in the new state
    bool take_structure(char c, std::string& out);
    bool take_key(char c, std::string& out);
    bool take_value(char c, std::string& out);
    bool take_text(char c, std::string& out);
    bool take_escape(char c, std::string& out);
    bool take_code(char c, std::string& out);
    bool take_closing_quote(char c, std::string& out);
    bool take_word(char c, std::string& out);

    void open(char bracket, std::string& out);
    void close(char bracket, std::string& out);
    void pop(std::string& out);
    void end_value();
    void end_word(std::string& out);
    void begin_text(char quote, bool key, std::string& out);
    void append(char c, std::string& out);  // of a string's content
    void drop_surrogate(std::string& out);
    bool in_object() const { return !open_.empty() && open_.back() == '{'; }

    State state_ = State::start;
    std::vector<char> open_;  // brackets
    bool comma_ = false;      // one is due before the next key or item
    bool is_key_ = false;     // the string or word is a key
    char quote_ = '"';
    std::string waiting_;    // a word; blanks after a quote; the digits of \u
    std::string surrogate_;  // the digits of the first half of a pair
};

}  // namespace ft
