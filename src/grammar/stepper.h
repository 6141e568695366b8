// Runs a machine over bytes. Where a grammar leaves several ways open, all are followed at once: a
// configuration is a node that waits for a byte, and the stack of calls around it.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "grammar/machine.h"

namespace ft::grammar {

// Open calls. Stacks share their lower parts, and equal ones are one: comparing them is comparing numbers.
class Stacks {
 public:
    struct Frame {
        int32_t node;    // where to go on when the call ends
        int32_t below;   // the stack under it
        int32_t depth;   // frames, this one included
        int64_t rounds;  // node is a repeat: rounds that have begun; -1: it is none, or has not begun
    };
    static constexpr int32_t k_empty = -1;
    static constexpr int32_t k_deepest = 512;

    // Nothing where it would be deeper than k_deepest: -2.
    static constexpr int32_t k_too_deep = -2;
    int32_t push(int32_t below, int32_t node, int64_t rounds);
    const Frame& top(int32_t stack) const { return frames_[static_cast<size_t>(stack)]; }

    size_t size() const { return frames_.size(); }
    void clear();

 private:
    void grow();
    size_t slot_of(const Frame& frame) const;

    std::vector<Frame> frames_;
    std::vector<int32_t> slots_;  // open addressing; -1: free
};

struct Config {
    int32_t node = 0;  // waits for a byte; k_done: the whole text is there
    int32_t stack = Stacks::k_empty;
    static constexpr int32_t k_done = -1;
    auto operator<=>(const Config&) const = default;
};

// Rising, each once; none: the text cannot go on.
using Configs = std::vector<Config>;

inline bool may_end(const Configs& configs) {
    return !configs.empty() && configs.front().node == Config::k_done;
}

constexpr size_t k_most_configs = 8192;  // ways at once

// One for each thread that steps. Calls deeper than Stacks::k_deepest are no ways.
class Stepper {
 public:
    explicit Stepper(const Machine& machine) : machine_(&machine) {}

    // Before the first byte.
    Status start(Stacks& stacks, Configs& out);
    // After one more.
    Status step(const Configs& from, uint8_t byte, Stacks& stacks, Configs& out);

    uint64_t work() const { return work_; }  // nodes that were looked at so far

 private:
    void close(Config from, Stacks& stacks, Configs& out);
    void iterate(int32_t node, int64_t rounds, int32_t below, Stacks& stacks);
    void leave(int32_t stack, Stacks& stacks, Configs& out);
    bool first_visit(Config config);
    void clear_seen();
    Status finish(Configs& out);

    const Machine* machine_;
    Configs todo_;
    std::vector<uint64_t> seen_;  // open addressing; k_free: free
    std::vector<size_t> seen_at_;
    uint64_t work_ = 0;
    bool too_many_ = false;
};

}  // namespace ft::grammar
