#include "http/byte_room.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace ft {
namespace {

TEST(ByteRoom, GivesNoMoreThanThereIs) {
    const auto room = std::make_shared<ByteRoom>(100);
    ByteShare one(room);
    EXPECT_TRUE(one.resize(60));
    {
        ByteShare two(room);
        EXPECT_FALSE(two.resize(41));
        EXPECT_EQ(two.bytes(), 0u);
        EXPECT_TRUE(two.resize(40));
        EXPECT_FALSE(one.resize(61));
        EXPECT_FALSE(one.resize(std::numeric_limits<uint64_t>::max()));
        EXPECT_EQ(one.bytes(), 60u);
        EXPECT_EQ(room->held(), 100u);
    }
    EXPECT_EQ(room->held(), 60u);
    EXPECT_TRUE(one.resize(100));
    EXPECT_TRUE(one.resize(0));
    EXPECT_EQ(room->held(), 0u);
}

TEST(ByteRoom, ManyThreadsTakeAndGiveBack) {
    const auto room = std::make_shared<ByteRoom>(1000);
    std::vector<std::thread> threads;
    std::atomic<bool> too_much{false};
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (uint64_t i = 0; i < 2000; i++) {
                ByteShare share(room);
                share.resize(i % 700);
                if (room->held() > room->most()) too_much = true;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(too_much);
    EXPECT_EQ(room->held(), 0u);
}

}  // namespace
}  // namespace ft
