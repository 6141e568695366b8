// Whether a token comes sooner with guesses than without them, measured: guesses take time of the processors
// and of the drive, and what they save depends on both. Where the drive is quick or reading it costs
// processor time, as with a virtual machine's drive, whose host works on the same processors, they may cost
// more than they save.
//
// A pair is a block of steps with guesses and one without, in the order with, without, without, with, so that
// a machine that becomes slower weighs on both. After the first pairs the better way is kept, and a pair now
// and then says whether it still is.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace ft {

class GuessTrial {
 public:
    static constexpr int k_block = 4;        // steps
    static constexpr int k_first_pairs = 8;  // before the better way is kept
    static constexpr int k_kept = 56;        // steps between two pairs from then on

    // How the next step is to be done.
    bool with_guesses() const { return kept_ > 0 ? gain_ >= 0 : with_; }

    // A step that could have had guesses took so long, for so many tokens. Steps of another number of tokens
    // do not compare: the pair begins anew.
    void stepped(Seconds time, int n_token) {
        if (kept_ > 0) {
            kept_--;
            return;
        }
        if (n_token != n_token_) begin_pair(with_first_);
        n_token_ = n_token;
        time_[with_ ? 1 : 0] += time;
        if (++n_step_ < k_block) return;
        n_step_ = 0;
        with_ = !with_;
        if (with_ != with_first_) return;
        judge();
        begin_pair(!with_first_);
    }

    // Mean of ln(time without / time with) of the last pairs.
    double gain() const { return gain_; }

 private:
    static constexpr int k_memory = 16;     // pairs
    static constexpr double k_most = 0.25;  // that one pair may say: a stall is no reason

    void begin_pair(bool with) {
        with_ = with_first_ = with;
        n_step_ = 0;
        time_[0] = time_[1] = 0;
    }
    void judge() {
        if (time_[0] <= 0 || time_[1] <= 0) return;
        n_pair_ = std::min(n_pair_ + 1, k_memory);
        gain_ += (std::clamp(std::log(time_[0] / time_[1]), -k_most, k_most) - gain_) / n_pair_;
        if (n_pair_ >= k_first_pairs) kept_ = k_kept;
    }

    bool with_ = true, with_first_ = true;  // the present block, the pair's first
    int n_step_ = 0, n_token_ = 0, n_pair_ = 0;
    int kept_ = 0;          // steps until the next pair
    Seconds time_[2] = {};  // of the pair: without, with
    double gain_ = 0;
};

}  // namespace ft
