#include "base/fifo.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace ft {
namespace {

TEST(Fifo, GivesBackInTheOrderOfPushing) {
    Fifo<int> fifo;
    std::deque<int> expected;
    std::minstd_rand random(7);
    for (int i = 0; i < 5000; i++) {
        if (random() % 3 > 0 || expected.empty()) {
            fifo.push(i);
            expected.push_back(i);
        } else {
            EXPECT_EQ(fifo.front(), expected.front());
            fifo.pop();
            expected.pop_front();
        }
        ASSERT_EQ(fifo.size(), expected.size());
        if (i % 97 == 0) {
            EXPECT_EQ(std::vector<int>(fifo.begin(), fifo.end()),
                      std::vector<int>(expected.begin(), expected.end()));
        }
    }
    fifo.clear();
    EXPECT_TRUE(fifo.empty());
    EXPECT_EQ(fifo.begin(), fifo.end());
}

TEST(Fifo, StaysInItsRoomHoweverManyPassThrough) {
    constexpr size_t k_room = 8;
    Fifo<int> fifo;
    fifo.reserve(k_room);
    fifo.push(0);
    const int* const place = &fifo.front();
    for (int i = 1; i < 1000; i++) {
        while (fifo.size() > static_cast<size_t>(i) % k_room) fifo.pop();
        fifo.push(i);
        ASSERT_LE(fifo.size(), k_room);
        ASSERT_GE(fifo.begin(), place) << i;
        ASSERT_LE(fifo.end(), place + 2 * k_room) << i;
    }
}

}  // namespace
}  // namespace ft
