// How byte-level BPE vocabularies split a text before any merge: one row for each rule, found by
// tokenizer.ggml.pre. The expressions are those of the models' publishers, written for PCRE2.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/function_ref.h"

namespace ft {

// One pass over the pieces of the pass before: what it finds and the text between both become pieces.
struct SplitStep {
    // A regular expression in which
    //   \s, \S     are the 25 characters of White_Space, and the others (PCRE2's own \s has one more)
    //   <U>        is a class: letters but the small ones, and marks
    //   <L>        is a class: letters but the capital ones, and marks
    //   <ASCII-P>  is a class: ASCII punctuation
    //   <C>        are the English contractions ('s, 't, 're, 've, 'm, 'll, 'd) in any case
    const char* expression = nullptr;

    // Or a search in code, for what a regular expression finds in quadratic time only: calls found(piece) for
    // each piece of `text` that it finds, from left to right.
    void (*search)(std::string_view text, FunctionRef<void(std::string_view)> found) = nullptr;
};

struct PretokenizerRule {
    const char* names;  // separated by blanks
    SplitStep steps[6];
    bool ignore_merges = false;  // a piece that is a token is that token, merged or not
    bool nfc = false;            // the published tokenizer composes characters first
    bool adds_bos = false;       // where the file does not say
    bool lossy = false;          // a stand-in, not the rule of any model
};

std::span<const PretokenizerRule> pretokenizer_rules();
const PretokenizerRule* find_pretokenizer(std::string_view name);  // nullptr: unknown
std::string pretokenizer_names();                                  // all, for a message

}  // namespace ft
