// Parts that all JSON is made of, bounded where a model might go on for ever without saying anything: white
// space, and the digits of numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/expr.h"

namespace ft::grammar {

// Between { and the first member, behind commas, and before } and ]: nothing, one blank, or one new line with
// up to k_most_indent blanks. Behind a colon: one blank at most. Nowhere else.
constexpr int64_t k_most_indent = 16;
constexpr int k_most_integer_digits = 18;  // fits 64 bits

class JsonRules {
 public:
    // Adds a rule for each part that is asked for, once. rules must outlive this.
    explicit JsonRules(Rules& rules) : rules_(rules) { ids_.fill(-1); }

    Expr value() { return shared(Part::value); }
    Expr object() { return shared(Part::object); }
    Expr array() { return shared(Part::array); }
    Expr string() { return shared(Part::string); }
    Expr number() { return shared(Part::number); }    // |x| < 10^116, 16 digits and 16 decimals
    Expr integer() { return shared(Part::integer); }  // |x| < 10^18
    Expr gap() { return shared(Part::gap); }
    Expr character() { return shared(Part::character); }  // one, as a string holds it
    Expr string_of(int64_t least, int64_t most);          // characters; most k_no_limit: any number

    // "key": value, with the blank that may stand between.
    static Expr member(Expr key, Expr value);
    // [ … ] and { … } around what gap() may follow and precede; `inner` "" is an empty one.
    Expr enclosed(const char* open, Expr inner, const char* close);
    // (", " item) least to most times.
    Expr further(Expr item, int64_t least, int64_t most);

 private:
    enum class Part { value, object, array, string, character, number, integer, gap };
    Expr shared(Part part);
    Expr made(Part part);

    Rules& rules_;
    std::array<int, 8> ids_;
};

// A character of a set as strings hold it: control characters, " and \ escaped, in the shortest way.
Expr json_chars(const CodeSet& set);
// Characters that strings hold as they are.
CodeSet unescaped_chars();

// All integers from least to most, without leading zeros; both below 10^18 in size.
Expr integers_between(int64_t least, int64_t most);

// Numbers between two whole ones, with up to 15 decimals and no exponent.
struct RealBounds {
    int64_t least = 0, most = 0;
    bool without_least = false, without_most = false;
};
Expr reals_between(const RealBounds& bounds);

}  // namespace ft::grammar
