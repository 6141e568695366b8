// The one form of failure: Expected<T> holds a value or an Error, and an Error is a sentence that names the
// thing with its numbers, and what to do next. No exception crosses a folder's boundary.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/printable.h"

namespace ft {

// Decides the exit status of the program: see exit_status().
enum class Code {
    invalid,      // the user's input: a flag, a key, a file's content
    not_found,    // a file, a tensor, a name
    truncated,    // a file that ends before its data does
    damaged,      // a file whose content turns out wrong while it is used
    unsupported,  // understood, but not something this program does
    too_large,    // does not fit in memory, in the context, in a limit
    io,           // the system refused a read or a write
    negative,     // a check whose answer is no (exit 1)
    internal,     // our own bug (exit 70)
};

struct Error {
    Code code = Code::invalid;
    std::string
        what;  // names the thing and the place: "model.gguf: tensor blk.3.ffn_down.weight ends at byte 9"
    std::string remedy;  // what to do about it; may be empty

    // The same error seen from a caller: "PLACE: what".
    [[nodiscard]] Error within(std::string_view place) const {
        return Error{code, fmt::format("{}: {}", place, what), remedy};
    }
    // "what. remedy." as one line for a terminal. Control characters (a file's own text) are escaped.
    [[nodiscard]] std::string sentence() const;
};

// 2 for what the user can mend, 1 for a check that says no, 70 for our own bugs.
int exit_status(const Error& error);

template <class T>
class [[nodiscard]] Expected {
 public:
    Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(value()); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    const Error& error() const {
        check(state_.index() == 1, "error() of an Expected that holds a value");
        return std::get<1>(state_);
    }

 private:
    T& value() {
        check(state_.index() == 0, "value of an Expected that holds an error");
        return std::get<0>(state_);
    }
    const T& value() const {
        check(state_.index() == 0, "value of an Expected that holds an error");
        return std::get<0>(state_);
    }
    std::variant<T, Error> state_;
};

// Success without a value, or an Error:  Status s = write(...);  if (!s) return s.error();
class [[nodiscard]] Status {
 public:
    Status() = default;
    Status(Error error) : failed_(true), error_(std::move(error)) {}
    explicit operator bool() const { return !failed_; }
    const Error& error() const {
        check(failed_, "error() of a Status that is success");
        return error_;
    }

 private:
    bool failed_ = false;
    Error error_;
};

}  // namespace ft
