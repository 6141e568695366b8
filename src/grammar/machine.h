// A grammar as a machine that reads bytes: nodes with edges, rules that call each other, and counted repeats.
// What it may do next depends on a stack of the calls that are open (stepper.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "grammar/expr.h"

namespace ft::grammar {

struct Node {
    enum class Kind : uint8_t {
        end,     // of a rule; node 0 is that of all rules
        byte,    // one byte from `first` to `last`, then `next`
        split,   // without a byte to any of targets[arg .. arg + count)
        call,    // rule `arg`, then `next`
        repeat,  // repeats[arg], then `next`
    };
    Kind kind = Kind::end;
    uint8_t first = 0, last = 0;
    int32_t next = 0;
    int32_t arg = 0;
    int32_t count = 0;
};

// The body takes a byte at least, or is repeated at most k_most_empty_repeats times.
struct Repeat {
    int32_t rule = 0;
    int64_t least = 0, most = 0;  // most k_no_limit: any number
    bool may_be_empty = false;    // the body, so that rounds are no bytes
};

struct Machine {
    std::vector<Node> nodes;
    std::vector<int32_t> targets;
    std::vector<int32_t> starts;     // of rules: the first node; rule 0 is the whole text
    std::vector<std::string> names;  // of rules, for messages; "": one that has none
    std::vector<Repeat> repeats;
};

// Numbers of nodes, rules and so on as indexes.
inline size_t index_of(int32_t id) { return static_cast<size_t>(id); }

constexpr size_t k_most_nodes = size_t{1} << 18;
constexpr size_t k_most_rules = size_t{1} << 16;
constexpr int64_t k_most_empty_repeats = 64;

// An error says what cannot be: too many nodes, a rule that begins with itself, one that never ends, a repeat
// of what may be empty. Ways that never end are cut off, so that whatever the machine reads can be completed.
Expected<Machine> build_machine(const Rules& rules);

// The second half of it.
Status check_machine(Machine& machine);

}  // namespace ft::grammar
