// Whether it pays to guess the experts of the next layer: asking its router costs the processors a little for
// every layer, and a wrong guess keeps the drive busy when a needed read comes.
#pragma once

#include "tiers/guess_trial.h"

namespace ft {

class GuessWorth {
 public:
    // Guesses are asked for while layers miss experts often enough, and not for a while after most were
    // wrong, nor where steps are measured to be faster without.
    bool pays() const { return could_pay() && trial_.with_guesses(); }

    // A step from its first layer to its last, for so many tokens.
    void stepped(Seconds time, int n_token) {
        if (could_pay()) trial_.stepped(time, n_token);
    }

    // A layer was visited: so many of its experts were not in a slot, those that a guess brought included.
    void visited(int n_missed) {
        missed_ += (n_missed - missed_) / k_memory;
        if (pause_ > 0) pause_--;
    }
    // A guessed expert was asked for, or not, in the visit it was guessed for.
    void judged(bool right) {
        (right ? right_ : wrong_)++;
        if (right_ + wrong_ < k_memory) return;
        if (right_ < wrong_) pause_ = k_pause;
        right_ = wrong_ = 0;
    }

 private:
    bool could_pay() const { return pause_ == 0 && missed_ > k_least_missed; }

    static constexpr int k_memory = 64;   // visits, guesses
    static constexpr int k_pause = 1024;  // visits: some 20 tokens
    // A read that is avoided saves about a millisecond, a router costs a twentieth of one.
    static constexpr double k_least_missed = 0.05;

    GuessTrial trial_;
    double missed_ = 1;  // of a visit, a running mean
    int right_ = 0, wrong_ = 0;
    int pause_ = 0;
};

}  // namespace ft
