// Mirostat 2: a truncation that steers the surprise of what is drawn to a target (Basu et al., "Mirostat: A
// Neural Text Decoding Algorithm that Directly Controls Perplexity", 2021, algorithm 2).
#pragma once

#include "sample/candidates.h"

namespace ft {

// One sequence's: its state depends on every token drawn before.
class Mirostat {
 public:
    // tau: the target in bits; eta: how fast it is approached.
    Mirostat(double tau, double eta) : tau_(tau), eta_(eta), most_(2 * tau) {}

    // Draws an id from softmax(logits / temperature) of the candidates whose surprise is at most the present
    // bound (the likeliest at least), and moves the bound. unit in [0, 1).
    int32_t draw(Candidates& candidates, double temperature, double unit);

    double bound() const { return most_; }  // in bits

 private:
    double tau_, eta_;
    double most_;
};

}  // namespace ft
