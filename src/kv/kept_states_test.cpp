#include "kv/kept_states.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

constexpr RecurrentShape k_small = {.n_layer = 2, .n_head = 1, .dim = 2, .n_channel = 3, .n_history = 1};

RecurrentState filled(float value) {
    RecurrentState state(k_small);
    for (float& x : state.all_matrices()) x = value;
    for (float& x : state.all_histories()) x = -value;
    return state;
}

void expect_restored(KeptStates& kept, int64_t position, float value) {
    RecurrentState state(k_small);
    kept.restore(position, state);
    for (const float x : state.all_matrices()) EXPECT_EQ(x, value);
    for (const float x : state.all_histories()) EXPECT_EQ(x, -value);
}

TEST(KeptStates, TheNewestOfThoseNotBehindAPositionComesBack) {
    KeptStates kept(3);
    EXPECT_FALSE(kept.newest(100));
    for (const int64_t at : {10, 20, 30}) kept.keep(filled(static_cast<float>(at)), at);
    EXPECT_FALSE(kept.newest(9));
    EXPECT_EQ(kept.newest(10), 10);
    EXPECT_EQ(kept.newest(29), 20);
    EXPECT_EQ(kept.newest(1000), 30);
    expect_restored(kept, 20, 20);
    EXPECT_EQ(kept.newest(1000), 20);  // the sequence goes on otherwise: what lay behind is not its own
    expect_restored(kept, 10, 10);
    kept.clear();
    EXPECT_FALSE(kept.newest(1000));
}

TEST(KeptStates, TheOldestMakesRoom) {
    KeptStates kept(2);
    for (const int64_t at : {10, 20, 30}) kept.keep(filled(static_cast<float>(at)), at);
    EXPECT_FALSE(kept.newest(19));
    EXPECT_EQ(kept.newest(29), 20);
    kept.keep(filled(7), 30);  // the same ids came to that position
    EXPECT_EQ(kept.newest(29), 20);
    expect_restored(kept, 30, 30);
    expect_restored(kept, 20, 20);
    kept.keep(filled(25), 25);  // in place of what was forgotten, not of the other
    EXPECT_EQ(kept.newest(24), 20);
    expect_restored(kept, 25, 25);
}

TEST(KeptStates, WithoutRoomNothingIsKept) {
    KeptStates kept;
    kept.keep(filled(1), 1);
    EXPECT_FALSE(kept.newest(5));
}

}  // namespace
}  // namespace ft
