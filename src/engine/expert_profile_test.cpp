// memory.warm_start: which experts an earlier run used most is kept, and those are read first.
#include "engine/expert_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/golden_models.h"
#include "gguf/gguf.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// With a cache folder of its own.
class ExpertProfileTest : public testing::Test {
 protected:
    void SetUp() override {
        const char* before = std::getenv("XDG_CACHE_HOME");
        had_ = before != nullptr;
        if (had_) before_ = before;
        ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    }
    void TearDown() override {
        if (had_) ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
        else ::unsetenv("XDG_CACHE_HOME");
        fs::remove_all(folder_);
    }
    fs::path file() const {
        for (const auto& entry : fs::directory_iterator(folder_ + "/freetoken")) return entry.path();
        return {};
    }
    static Gguf model() {
        auto opened = Gguf::open(golden(k_mixture));
        EXPECT_TRUE(opened);
        return std::move(*opened);
    }

    std::string folder_ = fmt::format("{}freetoken_profile_{}", testing::TempDir(), ::getpid());
    std::string before_;
    bool had_ = false;
};

TEST_F(ExpertProfileTest, OlderUsesCountHalfAndTheMostUsedComeFirst) {
    const Gguf gguf = model();
    const ExpertProfile profile(gguf, 2, 3);
    EXPECT_THAT(profile.read(), IsEmpty());
    profile.write({0, 7, 2, 100, 0, 1});
    EXPECT_THAT(profile.read(), ElementsAre(0, 4, 1, 50, 0, 1));
    EXPECT_THAT(profile.hottest(profile.read()),
                ElementsAre(std::pair(1, 0), std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)));
}

TEST_F(ExpertProfileTest, ItIsItsOwnersAlone) {
    const Gguf gguf = model();
    ExpertProfile(gguf, 2, 3).write({1, 2, 3, 4, 5, 6});
    EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ExpertProfileTest, OneThatIsDamagedOrOfAnotherModelIsNone) {
    const Gguf gguf = model();
    const ExpertProfile profile(gguf, 2, 3);
    profile.write({1, 2, 3, 4, 5, 6});
    ASSERT_FALSE(profile.read().empty());
    EXPECT_THAT(ExpertProfile(gguf, 3, 3).read(), IsEmpty());
    const uint64_t bytes = fs::file_size(file());
    for (const uint64_t at : {uint64_t{0}, uint64_t{9}, bytes - 1}) {
        profile.write({1, 2, 3, 4, 5, 6});
        std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary)
            .seekp(static_cast<std::streamoff>(at))
            .put('\x7f');
        EXPECT_THAT(profile.read(), IsEmpty()) << at;
    }
    profile.write({1, 2, 3, 4, 5, 6});
    fs::resize_file(file(), bytes - 1);
    EXPECT_THAT(profile.read(), IsEmpty());
}

TEST_F(ExpertProfileTest, ASecondStartReadsTheHottestBeforeAnyoneAsks) {
    LoadOptions options = streaming_options(k_mixture, 0.5);
    options.prefetch = false;  // which would fill the slots that are left with others
    std::vector<float> expected;
    for (const bool second : {false, true}) {
        options.warm_start = true;
        const auto engine = load(options);
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(engine->expert_stats().bytes_read > 0, second);
        const std::vector<float> logits = logits_of(*engine);
        if (second) {
            EXPECT_TRUE(same_bits(logits, expected));
        }
        expected = logits;
    }
    options.warm_start = false;
    const auto cold = load(options);
    ASSERT_NE(cold, nullptr);
    EXPECT_EQ(cold->expert_stats().bytes_read, 0u);
}

}  // namespace
}  // namespace ft
