// Recurrent layers cannot go back, so a sequence that may have to keeps copies of their state at some of its
// positions. The newest few stay. Owner: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kv/recurrent_state.h"

namespace ft {

class KeptStates {
 public:
    explicit KeptStates(int64_t most = 0) : most_(static_cast<size_t>(most)) {}

    int64_t most() const { return static_cast<int64_t>(most_); }

    // A copy of the state after the first `position` ids, in place of the oldest where there are enough
    // already. The memory of a copy is taken once.
    void keep(const RecurrentState& state, int64_t position);

    // The last position at or before `position` whose state is kept.
    std::optional<int64_t> newest(int64_t position) const;

    // The state at a position that newest() gave; what was kept behind it is forgotten.
    void restore(int64_t position, RecurrentState& state);

    void clear();

 private:
    struct Kept {
        int64_t position = k_free;
        RecurrentState state;
    };
    static constexpr int64_t k_free = -1;

    size_t most_;
    std::vector<Kept> kept_;
};

}  // namespace ft
