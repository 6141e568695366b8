// Which tokens may come next. A set of configurations is a state; states and their edges are made when they
// are needed and kept, so that walking the tree of all tokens costs some nanoseconds a node, and the set of
// tokens of a state is kept too.
//
// Rounds of a counted repeat that are further away than any token reaches make no difference to the next
// token, so states forget them: a string of 5,000 characters needs a few hundred states, not 5,000.
//
// What is kept is bounded, and dropped whole when it is too much.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "grammar/stepper.h"
#include "text/token_trie.h"

namespace ft::grammar {

// At the beginning of a text some vocabularies do not show one blank, so it is no part of what the grammar
// reads.
enum class Blank { read, passed_over };

class Automaton {
 public:
    // All must outlive this.
    Automaton(const Machine& machine, const TokenTrie& trie, std::span<const int32_t> end_ids);

    // The tokens that may come at `configs`, whose stacks are in `stacks`: bits by id, trie.words() of them.
    // End tokens where the text may end. Any number of threads, one after the other. An error: so many ways
    // at once that it would take too long.
    Status allowed(const Configs& configs, const Stacks& stacks, Blank blank, std::span<uint64_t> out);

 private:
    static constexpr int32_t k_dead = -1;
    static constexpr int32_t k_unknown = -2;
    using Row = std::array<int32_t, 256>;  // states by byte; k_dead: none

    struct State {
        Configs configs;
        std::unique_ptr<const Row> row = {};
        std::vector<uint64_t> tokens = {};  // empty: not known
        int32_t after_plain = k_unknown;    // the state after any plain character; k_dead: they differ
    };

    int32_t state_of(Configs configs);
    int32_t without_far_rounds(const Configs& configs, const Stacks& stacks);
    int32_t copied(int32_t stack, const Stacks& from);
    int64_t near_rounds(const Repeat& repeat, int64_t rounds) const;
    Status expand(int32_t state);
    Expected<int32_t> after(int32_t state, uint8_t byte);
    Expected<int32_t> after_plain(int32_t state);
    Expected<bool> takes_plain(int32_t state);
    Expected<int> plain_reach(int32_t state);
    Status find_tokens(int32_t& state, std::span<uint64_t> out);
    Status walk(std::span<const TokenTrie::Node> nodes, int32_t& state, Blank blank, std::span<uint64_t> out);
    bool is_full() const;
    void forget(std::span<int32_t> keep);
    void keep_tokens(int32_t state, std::span<const uint64_t> tokens);

    const Machine& machine_;
    const TokenTrie& trie_;
    const std::span<const int32_t> end_ids_;

    std::mutex mutex_;  // guards all below
    Stepper stepper_;
    Stacks stacks_;
    std::vector<State> states_;
    std::unordered_multimap<uint64_t, int32_t> by_hash_;
    size_t n_configs_ = 0;  // of all states
    size_t n_kept_ = 0;     // sets of tokens
    uint64_t work_allowed_ = 0;
    std::vector<int32_t> path_;  // of a walk: the state before each byte
};

}  // namespace ft::grammar
