#include "engine/memory_need.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace ft {
namespace {

TEST(MemoryNeed, IsRefusedWithTheNumbers) {
    const MemoryNeed need{.weights = 20 * k_gib, .kv_cache = k_gib, .state = 0, .scratch = k_gib / 2};
    EXPECT_TRUE(check_memory(need, 22 * k_gib));
    const Status refused = check_memory(need, 16 * k_gib);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::too_large);
    EXPECT_NE(refused.error().what.find("21.50"), std::string::npos);
    EXPECT_NE(refused.error().what.find("16.00"), std::string::npos);
}

}  // namespace
}  // namespace ft
