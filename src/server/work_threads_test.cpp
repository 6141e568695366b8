#include "server/work_threads.h"

#include <gtest/gtest.h>

#include <future>
#include <system_error>

#include "base/few_threads_for_test.h"

namespace ft {
namespace {

TEST(WorkThreads, FewerThanWishedDoTheWork) {
    const FewThreads few(1);
    WorkThreads threads(2);
    EXPECT_EQ(threads.size(), 1u);
    for (int i = 0; i < 3; i++) {
        std::promise<int> done;
        threads.push([&done, i] { done.set_value(i); });
        EXPECT_EQ(done.get_future().get(), i);
    }
}

TEST(WorkThreads, WhereThereIsNoneTheReasonIsThrown) {
    const FewThreads none(0);
    EXPECT_THROW(WorkThreads(2), std::system_error);
}

}  // namespace
}  // namespace ft
