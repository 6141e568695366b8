#include "base/system_error.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace ft {
namespace {

TEST(SystemError, NamesPathReasonAndRemedy) {
    const Error error = system_error("some\nwhere", "read", ENOSPC);
    EXPECT_EQ(error.code, Code::io);
    EXPECT_EQ(error.what.find("some\\x0awhere: cannot read: "), 0u) << error.what;
    EXPECT_EQ(error.remedy, system_remedy(ENOSPC));
    EXPECT_EQ(system_error("x", "open", ENOENT).code, Code::not_found);
    EXPECT_EQ(system_remedy(EDOM), "");
}

TEST(SystemError, WithoutAThreadTheLimitOnAddressSpaceIsNamedWhereThereIsOne) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    rlimit wide = before;  // far more than this process will ever ask for
    wide.rlim_cur = std::min<rlim_t>(before.rlim_max, rlim_t{1} << 46);
    ASSERT_EQ(setrlimit(RLIMIT_AS, &wide), 0);
    const std::string limited = thread_remedy();
    rlimit without = before;
    without.rlim_cur = before.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_AS, &without), 0);
    const std::string free = thread_remedy();
    ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_NE(limited.find("ulimit -v"), std::string::npos) << limited;
    EXPECT_NE(limited.find("ulimit -u"), std::string::npos) << limited;
    if (before.rlim_max == RLIM_INFINITY) {
        EXPECT_EQ(free, system_remedy(EAGAIN));
    }
}

}  // namespace
}  // namespace ft
