// The copy of experts in swap_dir: the same bytes however it is read, and what is damaged comes from the
// model.
#include "tiers/expert_pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/buffer.h"
#include "io/blocks.h"
#include "io/output_file.h"
#include "tiers/expert_cache.h"
#include "tiers/file_pattern_for_test.h"

namespace ft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int k_pack_layers = 3, k_pack_experts = 7;
constexpr uint64_t k_slices[k_pack_layers][2] = {{5000, 4097}, {5000, 4097}, {8192, 100}};

class ExpertPackTest : public ::testing::Test {
 protected:
    void SetUp() override {
        fs::create_directories(folder_);
        write_model(400'000);
        path_ = ExpertPack::path_in(folder_, model_);
    }
    void TearDown() override {
        model_file_.reset();
        fs::remove_all(folder_);
        fs::remove(model_);
    }
    void write_model(uint64_t bytes) {
        std::ofstream out(model_, std::ios::binary);
        for (uint64_t i = 0; i < bytes; i++) out.put(static_cast<char>(byte_at(i)));
        out.close();
        auto file = File::open(model_);
        ASSERT_TRUE(file);
        model_file_ = std::move(*file);
    }
    static uint64_t place(int layer, int expert, int slice) {
        return static_cast<uint64_t>(layer) * 120'000 + static_cast<uint64_t>(slice) * 60'000 + 77 +
               static_cast<uint64_t>(expert) * k_slices[layer][slice];
    }
    ExpertRecords records() const {
        ExpertRecords all;
        for (int layer = 0; layer < k_pack_layers; layer++) {
            ExpertLayer record{.size_class = layer == 2 ? 1 : 0, .n_expert = k_pack_experts, .stacks = {}};
            for (int s = 0; s < 2; s++)
                record.stacks.push_back({model_file_.get(), place(layer, 0, s), k_slices[layer][s]});
            all.push_back(record);
        }
        return all;
    }
    void write() { ASSERT_TRUE(ExpertPack::write(path_, records(), {})); }
    ExpertPack open() {
        auto pack = ExpertPack::open(path_, records());
        EXPECT_TRUE(pack) << pack.error().what;
        return std::move(*pack);
    }
    std::string why_not() {
        const auto pack = ExpertPack::open(path_, records());
        return pack ? "" : pack.error().what;
    }
    void flip(uint64_t at) const {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(at));
        const char old = static_cast<char>(file.get());
        file.seekp(static_cast<std::streamoff>(at));
        file.put(static_cast<char>(old ^ 1));
    }
    // Reads every expert through a cache that holds two of a class, and looks at every byte.
    static void expect_all(const ExpertPack& pack, ReadMethod method) {
        CacheOptions options;
        options.method = method;
        auto cache = ExpertCache::create(pack.records(), std::vector<int64_t>{2, 2}, options);
        if (!cache && method == ReadMethod::io_uring) GTEST_SKIP() << cache.error().what;
        ASSERT_TRUE(cache);
        for (int layer = 0; layer < k_pack_layers; layer++) {
            (*cache)->begin_step();
            std::vector<Lease> ready;
            int n = 0;
            (*cache)->begin(layer, std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6}, ready);
            do {
                for (const Lease& lease : ready) expect_bytes(lease, layer);
                n += static_cast<int>(ready.size());
            } while ((*cache)->next(ready));
            EXPECT_EQ(n, k_pack_experts);
            EXPECT_TRUE((*cache)->status());
        }
    }
    static void expect_bytes(const Lease& lease, int layer) {
        for (int s = 0; s < 2; s++)
            for (uint64_t i = 0; i < k_slices[layer][s]; i++)
                ASSERT_EQ(lease.slice(s)[i], byte_at(place(layer, lease.expert(), s) + i))
                    << layer << " " << lease.expert() << " " << s << " " << i;
    }
    static std::vector<std::string> names_in(const std::string& folder) {
        std::vector<std::string> names;
        for (const auto& file : fs::directory_iterator(folder))
            names.push_back(file.path().filename().string());
        return names;
    }

    std::string folder_ = fmt::format("{}freetoken_pack_test_{}", ::testing::TempDir(), ::getpid());
    std::string model_ = folder_ + "-model.gguf", path_;
    std::unique_ptr<File> model_file_;
};

TEST_F(ExpertPackTest, EveryExpertIsOneReadOfItsOwnBlocks) {
    write();
    EXPECT_EQ(fs::file_size(path_), ExpertPack::bytes_of(records()));
    const ExpertPack pack = open();
    for (const ReadMethod method : {ReadMethod::threads, ReadMethod::io_uring}) expect_all(pack, method);
    EXPECT_EQ(pack.n_mended(), 0u);
    for (const ExpertLayer& layer : pack.records())
        for (int e = 0; e < k_pack_experts; e++) EXPECT_EQ(layer.stacks[0].of(e) % k_file_block, 0u);
    EXPECT_EQ(names_in(folder_).size(), 1u);
}

TEST_F(ExpertPackTest, AnyDamagedByteThatIsUsedIsNoticedAndMended) {
    for (const ReadMethod method : {ReadMethod::threads, ReadMethod::io_uring})
        for (const uint64_t at :
             {uint64_t{0}, uint64_t{4999}, uint64_t{9000}, uint64_t{12'300}, uint64_t{300'000}}) {
            write();
            flip(at);
            const ExpertPack pack = open();
            expect_all(pack, method);
            if (IsSkipped()) return;
            EXPECT_EQ(pack.n_mended(), 1u) << at;
            EXPECT_FALSE(fs::exists(path_)) << "the next start makes it anew";
        }
}

TEST_F(ExpertPackTest, DamageWhileItIsInUseIsNoticedToo) {
    write();
    const ExpertPack pack = open();
    expect_all(pack, ReadMethod::threads);
    flip(123);
    expect_all(pack, ReadMethod::threads);
    EXPECT_EQ(pack.n_mended(), 1u);
}

TEST_F(ExpertPackTest, ATruncatedPackIsMendedWhileItIsInUse) {
    write();
    const ExpertPack pack = open();
    ::truncate(path_.c_str(), 100'000);
    expect_all(pack, ReadMethod::threads);
    EXPECT_GT(pack.n_mended(), 0u);
}

TEST_F(ExpertPackTest, ATableThatIsDamagedOrOfAnotherModelIsNotUsed) {
    EXPECT_THAT(why_not(), HasSubstr("No such file"));
    write();
    const uint64_t bytes = fs::file_size(path_);
    for (const uint64_t at : {bytes - 1, bytes - 9, bytes - 8 * (k_pack_layers * k_pack_experts + 3)}) {
        flip(at);
        EXPECT_THAT(why_not(), HasSubstr("damaged")) << at;
        flip(at);
    }
    EXPECT_EQ(why_not(), "");
    fs::resize_file(path_, bytes - 1);
    EXPECT_THAT(why_not(), HasSubstr("size"));
    write();
    write_model(400'001);
    EXPECT_THAT(why_not(), HasSubstr("another file"));
}

TEST_F(ExpertPackTest, AWriteThatFailsLeavesNothing) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{100'000, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Status full = ExpertPack::write(path_, records(), {});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(full);
    EXPECT_THAT(full.error().what, HasSubstr("cannot write"));
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ExpertPackTest, AModelThatCannotBeReadIsAnError) {
    ::truncate(model_.c_str(), 200'000);
    const Status failed = ExpertPack::write(path_, records(), {});
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().what, HasSubstr("-model.gguf"));
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ExpertPackTest, AModelThatIsWrittenToMeanwhileLeavesNoCopy) {
    bool first = true;
    const Status failed = ExpertPack::write(path_, records(), [&](uint64_t, uint64_t) {
        if (std::exchange(first, false)) std::ofstream(model_, std::ios::in | std::ios::binary).put('x');
    });
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().what, AllOf(HasSubstr("-model.gguf"), HasSubstr("written to")));
    EXPECT_TRUE(fs::is_empty(folder_));
}

// The file that is read has lost its name to another one of the same size.
TEST_F(ExpertPackTest, ACopyIsOfTheFileThatWasReadAndNotOfTheOneThatHasItsName) {
    const ExpertRecords of_old = records();
    const std::unique_ptr<File> old = std::move(model_file_);
    fs::rename(model_, model_ + ".old");
    write_model(400'000);
    ASSERT_TRUE(ExpertPack::write(path_, of_old, {}));
    EXPECT_THAT(why_not(), HasSubstr("another file"));
    fs::remove(model_ + ".old");
}

TEST_F(ExpertPackTest, ADamagedPackDoesNotTakeTheNameFromANewOne) {
    write();
    const ExpertPack old = open();
    flip(0);
    fs::rename(path_, path_ + ".old");
    write();
    expect_all(old, ReadMethod::threads);
    EXPECT_EQ(old.n_mended(), 1u);
    EXPECT_TRUE(fs::exists(path_));
}

TEST_F(ExpertPackTest, KilledAtAnyMomentItLeavesAFolderThatTheNextStartUses) {
    for (const int batches : {0, 1, 2}) {
        const pid_t child = ::fork();
        if (child == 0) {
            int n = 0;
            (void)ExpertPack::write(path_, records(), [&](uint64_t, uint64_t) {
                if (n++ == batches) ::raise(SIGKILL);
            });
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status));
        EXPECT_FALSE(fs::exists(path_));
        remove_stale_output(folder_);
        EXPECT_TRUE(fs::is_empty(folder_));
    }
    write();
    expect_all(open(), ReadMethod::threads);
}

TEST_F(ExpertPackTest, OnlyTemporariesOfDeadProcessesAreRemoved) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const std::string dead = fmt::format("{}/.freetoken-{}-0.tmp", folder_, child);
    const std::string alive = fmt::format("{}/.freetoken-{}-0.tmp", folder_, ::getpid());
    const std::string foreign = fmt::format("{}/.freetoken-{}-0.tmp.txt", folder_, child);
    for (const std::string& name : {dead, alive, foreign}) std::ofstream(name) << "x";
    remove_stale_output(folder_);
    EXPECT_FALSE(fs::exists(dead));
    EXPECT_TRUE(fs::exists(alive));
    EXPECT_TRUE(fs::exists(foreign));
}

}  // namespace
}  // namespace ft
