// What a Grammar holds.
#pragma once

#include <array>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/machine.h"
#include "text/token_trie.h"
#include "text/tokenizer.h"

namespace ft::grammar {

struct Compiled {
    Compiled(Machine its_machine, const Tokenizer& its_tokenizer)
        : machine(std::move(its_machine)),
          tokenizer(its_tokenizer),
          opens_thinking(token_of(tokenizer, "<think>")),
          newlines{token_of(tokenizer, "\n"), token_of(tokenizer, "\n\n")},
          automaton(machine, tokenizer.trie(), tokenizer.end_ids()) {}

    // -1: it is not one token of its own.
    static int32_t token_of(const Tokenizer& tokenizer, std::string_view text) {
        const std::vector<int32_t> ids = tokenizer.encode(text, {.special = true});
        return ids.size() == 1 && tokenizer.decode(ids) == text ? ids[0] : -1;
    }

    const Machine machine;
    const Tokenizer& tokenizer;
    const int32_t opens_thinking;           // -1: the vocabulary has no such token
    const std::array<int32_t, 2> newlines;  // that models write behind </think>
    mutable Automaton automaton;
};

}  // namespace ft::grammar
