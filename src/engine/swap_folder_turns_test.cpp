// Several programs that start with the same swap_dir at once: one copies, the others wait for it, and whoever
// is killed leaves its turn to the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>

#include "engine/swap_folder.h"
#include "io/folder_lock.h"
#include "io/output_file.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t k_turn_slice = 5000;
constexpr int k_turn_experts = 9;

struct Pipe {
    Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
    ~Pipe() {
        for (const int fd : ends) ::close(fd);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void send() const { EXPECT_EQ(::write(ends[1], "\n", 1), 1); }
    // Up to the end of a line.
    std::string line() const {
        std::string text;
        for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) text += c;
        return text;
    }
    std::array<int, 2> ends{};
};

class SwapFolderTurns : public ::testing::Test {
 protected:
    void SetUp() override {
        fs::create_directories(folder_);
        std::ofstream(model_) << std::string(k_turn_slice * k_turn_experts, 'm');
    }
    void TearDown() override {
        fs::remove_all(folder_);
        fs::remove(model_);
    }
    static Expected<DriveComparison> faster_by_word(const std::string&, const std::string&,
                                                    const BeforeMeasuring&) {
        return DriveComparison{true, ""};
    }
    static ExpertRecords records_of(const File& model, uint64_t slice_bytes = k_turn_slice) {
        return {{.size_class = 0, .n_expert = k_turn_experts, .stacks = {{&model, 0, slice_bytes}}}};
    }
    Expected<SwapFolder> choose(uint64_t bytes = 1) const {
        return SwapFolder::choose(folder_, model_, bytes, &faster_by_word);
    }
    // What a start does: whether it reads from a copy. `copying` is called when it makes one.
    bool start(const std::function<void()>& copying) const {
        const auto model = File::open(model_);
        const auto swap = choose();
        if (!model || !swap) return false;
        bool first = true;
        const auto progress = [&](uint64_t, uint64_t) {
            if (std::exchange(first, false)) copying();
        };
        return swap->pack(records_of(**model), &File::open, progress).has_value();
    }
    // Another program that logs to `said` and does `work`, which says how it ends.
    static pid_t program(const Pipe& said, const std::function<bool()>& work) {
        const pid_t child = ::fork();
        if (child != 0) return child;
        ::dup2(said.ends[1], STDERR_FILENO);
        ::_exit(work() ? 0 : 1);
    }
    // One that has begun to copy and never ends by itself.
    pid_t stuck_program(const Pipe& said) const {
        const Pipe begun;
        const pid_t stuck = program(said, [&] {
            return start([&] {
                begun.send();
                ::pause();
            });
        });
        begun.line();
        return stuck;
    }
    static int end_of(pid_t child) {
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return status;
    }
    ptrdiff_t n_files() const { return std::distance(fs::directory_iterator(folder_), {}); }

    std::string folder_ = fmt::format("{}freetoken_swap_turns_{}", ::testing::TempDir(), ::getpid());
    std::string model_ = folder_ + "-model.gguf";
};

// The others are there before the copy begins: a process that is forked later would share the lock.
TEST_F(SwapFolderTurns, TheOthersWaitForTheOneThatCopiesAndTakeItsCopy) {
    const Pipe said, go;
    std::array<pid_t, 3> others{};
    for (pid_t& other : others)
        other = program(said, [&] {
            go.line();
            bool copied = false;
            return start([&] { copied = true; }) && !copied;
        });
    EXPECT_TRUE(start([&] {
        for (size_t i = 0; i < others.size(); i++) {
            go.send();
            EXPECT_THAT(said.line(),
                        AllOf(HasSubstr("another program is copying experts"), HasSubstr(folder_)));
        }
    }));
    for (const pid_t other : others) EXPECT_EQ(end_of(other), 0) << "it made a copy of its own, or has none";
    EXPECT_EQ(n_files(), 1);
    said.send();
    EXPECT_EQ(said.line(), "") << "one line each";
}

TEST_F(SwapFolderTurns, WhoeverHasTheCopyWaitsForNobody) {
    ASSERT_TRUE(start([] {}));
    const FolderLock copies_another_model = FolderLock::take(folder_, [] {});
    EXPECT_TRUE(start([] { ADD_FAILURE() << "copied again"; }));
}

TEST_F(SwapFolderTurns, WhenTheOneThatCopiesIsKilledTheNextMakesTheCopy) {
    const Pipe said;
    const pid_t stuck = stuck_program(said);
    EXPECT_THAT(said.line(), HasSubstr("are copied to"));
    const pid_t next = program(said, [&] {
        bool copied = false;
        return start([&] { copied = true; }) && copied;
    });
    EXPECT_THAT(said.line(), HasSubstr("waiting until it is done"));
    ::kill(stuck, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(end_of(stuck)));
    EXPECT_EQ(end_of(next), 0);
    EXPECT_EQ(n_files(), 1);
}

TEST_F(SwapFolderTurns, CtrlCEndsAProgramThatWaits) {
    const Pipe said;
    const pid_t stuck = stuck_program(said);
    said.line();
    const pid_t waiting = program(said, [&] { return start([] {}); });
    said.line();
    ::kill(waiting, SIGINT);
    const int status = end_of(waiting);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    ::kill(stuck, SIGKILL);
    end_of(stuck);
    remove_stale_output(folder_);  // of the one that was killed, where files cannot be without a name
    EXPECT_EQ(n_files(), 0);
}

TEST_F(SwapFolderTurns, RoomIsLookedForByTheOneThatCopies) {
    constexpr uint64_t k_too_much = uint64_t{1} << 50;
    const auto model = File::open(model_);
    ASSERT_TRUE(model);
    EXPECT_FALSE(choose(k_too_much));
    std::optional<SwapFolder> swap;
    {
        const FolderLock another_copies = FolderLock::take(folder_, [] {});
        auto chosen = choose(k_too_much);
        ASSERT_TRUE(chosen) << "the other's copy takes the room and may be the one that is needed";
        swap = std::move(*chosen);
    }
    testing::internal::CaptureStderr();
    const auto none = swap->pack(records_of(**model, k_too_much / k_turn_experts), &File::open,
                                 [](uint64_t, uint64_t) { ADD_FAILURE() << "read before it looked"; });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(none);
    EXPECT_THAT(said, AllOf(HasSubstr("GiB free"), HasSubstr("the model file itself is read")));
    EXPECT_EQ(n_files(), 0);
}

}  // namespace
}  // namespace ft
