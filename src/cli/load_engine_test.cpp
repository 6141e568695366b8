#include "cli/load_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft::cli {
namespace {

constexpr uint64_t k_gib_of_test = uint64_t{1} << 30;

TEST(LoadNotice, IsSaidOnceAfterAWhile) {
    LoadNotice notice("big.gguf", false);
    EXPECT_EQ(notice.line(0, 4 * k_gib_of_test, 0.1), "");
    EXPECT_EQ(notice.line(k_gib_of_test, 4 * k_gib_of_test, 10),
              "big.gguf: 1.00 GiB of 4.00 GiB are read, 30 s left");
    EXPECT_EQ(notice.line(2 * k_gib_of_test, 4 * k_gib_of_test, 20), "");
}

TEST(LoadNotice, IsNotSaidBesideABarNorAtTheEnd) {
    EXPECT_EQ(LoadNotice("big.gguf", true).line(1, 4, 10), "");
    EXPECT_EQ(LoadNotice("big.gguf", false).line(4, 4, 10), "");
}

TEST(MachineNotes, SayWhatIsNotThere) {
    using ::testing::ElementsAre;
    using ::testing::HasSubstr;
    using ::testing::IsEmpty;
    EXPECT_THAT(machine_notes(0, 0, 2, 8 * k_gib_of_test), IsEmpty());
    EXPECT_THAT(machine_notes(4, 8 * k_gib_of_test, 2, 8 * k_gib_of_test), IsEmpty());
    EXPECT_THAT(machine_notes(64, 100 * k_gib_of_test, 2, 23 * k_gib_of_test),
                ElementsAre(HasSubstr("64 threads for 2 cores"),
                            HasSubstr("of 100.00 GiB is more than this machine's 23.00 GiB of RAM")));
    EXPECT_THAT(machine_notes(0, 100 * k_gib_of_test, 2, 0), IsEmpty());
}

}  // namespace
}  // namespace ft::cli
