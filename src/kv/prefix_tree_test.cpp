#include "kv/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace ft {
namespace {

constexpr KvShape k_tree_shape = {.n_layer = 1, .n_head_kv = 1, .dim_k = 32, .dim_v = 32};
constexpr uint64_t k_plenty = uint64_t{1} << 40;

std::vector<int32_t> ids_from(int32_t first, int64_t n) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < n; i++) ids.push_back(first + static_cast<int32_t>(i));
    return ids;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct Fixture {
    std::unique_ptr<PagePool> pool;
    PrefixTree tree;

    explicit Fixture(int64_t n_page, bool recurrent = false, PrefixBudget budget = {k_plenty, k_plenty})
        : pool(std::move(*PagePool::create(k_tree_shape, n_page))), tree(*pool, recurrent, budget) {}

    // Pages of a sequence that held `ids` and ended.
    std::vector<int32_t> pages(int64_t n_ids) {
        std::vector<int32_t> pages;
        for (int64_t i = 0; i < kv_pages(n_ids); i++) pages.push_back(*pool->take());
        return pages;
    }
    void release(const std::vector<int32_t>& pages) {
        for (const int32_t page : pages) pool->release(page);
    }
    std::vector<int32_t> keep(const std::vector<int32_t>& ids, const RecurrentState* state = nullptr) {
        const auto its = pages(static_cast<int64_t>(ids.size()));
        tree.insert(ids, its, false, state);
        release(its);
        return its;
    }
};

TEST(PrefixTree, FindsTheLongestBeginningInWholePagesAndInPartOfOne) {
    Fixture f(16);
    const auto ids = ids_from(0, 300);
    const auto pages = f.keep(ids);
    EXPECT_EQ(f.tree.find(ids).n_token, 300);
    EXPECT_EQ(f.tree.find(ids).pages, pages);
    const PrefixMatch some = f.tree.find(joined(ids_from(0, 200), {-1, -2}));
    EXPECT_EQ(some.n_token, 200);
    EXPECT_EQ(some.pages, std::vector<int32_t>(pages.begin(), pages.begin() + 2));
    EXPECT_EQ(f.tree.find(ids_from(7, 50)).n_token, 0);
    EXPECT_EQ(f.pool->n_free(), 16 - 3);
}

TEST(PrefixTree, BranchesShareTheirPagesAndAPartialPageGrows) {
    Fixture f(16);
    const auto a = joined(ids_from(0, 128), ids_from(1000, 50)),
               b = joined(ids_from(0, 128), ids_from(5000, 90));
    f.keep(a);
    f.keep(b);
    EXPECT_EQ(f.tree.n_page(), 3);
    EXPECT_EQ(f.tree.find(a).n_token, 178);
    EXPECT_EQ(f.tree.find(b).n_token, 218);
    f.keep(joined(ids_from(0, 128), ids_from(1000, 120)));  // a goes on
    EXPECT_EQ(f.tree.n_page(), 3);
    EXPECT_EQ(f.tree.find(joined(ids_from(0, 128), ids_from(1000, 120))).n_token, 248);
    EXPECT_EQ(f.pool->n_free(), 16 - 3);
    f.tree.clear();
    EXPECT_EQ(f.pool->n_free(), 16);
}

TEST(PrefixTree, CopiesAPageThatItsOwnerGoesOnWriting) {
    Fixture f(4);
    const auto ids = ids_from(0, 130);
    const auto pages = f.pages(130);
    f.pool->bytes(pages[1])[5] = std::byte{42};
    f.tree.insert(ids, pages, true, nullptr);
    EXPECT_EQ(f.pool->refs(pages[0]), 2);
    EXPECT_EQ(f.pool->refs(pages[1]), 1);
    const PrefixMatch match = f.tree.find(ids);
    ASSERT_EQ(match.pages.size(), 2u);
    EXPECT_NE(match.pages[1], pages[1]);
    EXPECT_EQ(f.pool->bytes(match.pages[1])[5], std::byte{42});
    f.tree.insert(joined(ids_from(0, 128), {-5}), pages, true, nullptr);  // the last free page
    f.tree.insert(joined(ids_from(0, 128), {-6}), pages, true, nullptr);  // none is left for this
    EXPECT_EQ(f.tree.find(joined(ids_from(0, 128), {-5})).n_token, 129);
    EXPECT_EQ(f.tree.find(joined(ids_from(0, 128), {-6})).n_token, 128);
    f.release(pages);
}

TEST(PrefixTree, ForgetsWhatWasUsedLongestAgoAndNothingThatIsInUse) {
    Fixture f(6);
    f.keep(ids_from(0, 256));
    f.keep(ids_from(1000, 128));
    const PrefixMatch used = f.tree.find(ids_from(0, 256));
    f.keep(ids_from(2000, 256));
    EXPECT_EQ(f.pool->n_free(), 1);
    f.pool->share(used.pages[0]);
    EXPECT_TRUE(f.tree.free_pages(2));
    EXPECT_EQ(f.tree.find(ids_from(1000, 128)).n_token, 0);
    EXPECT_EQ(f.tree.find(ids_from(0, 256)).n_token, 256);
    EXPECT_TRUE(f.tree.free_pages(5));
    EXPECT_FALSE(f.tree.free_pages(6));
    EXPECT_EQ(f.tree.find(ids_from(0, 256)).n_token, 128);  // its page is another's too
    f.pool->release(used.pages[0]);
    EXPECT_TRUE(f.tree.free_pages(6));
}

// A window has moved on from the first pages of a sequence, whose later ones are in use.
TEST(PrefixTree, ForgetsAPageBeforeThoseThatAreInUseWhereNothingElseIsLeft) {
    Fixture f(5);
    const auto pages = f.pages(384);
    f.tree.insert(ids_from(0, 384), pages, false, nullptr);
    f.pool->release(pages[0]);
    f.keep(ids_from(1000, 128));
    EXPECT_TRUE(f.tree.free_pages(2));
    EXPECT_EQ(f.tree.find(ids_from(0, 384)).n_token, 384);
    EXPECT_TRUE(f.tree.free_pages(3));
    EXPECT_EQ(f.tree.n_page(), 0);
    EXPECT_EQ(f.pool->refs(pages[1]), 1);
    EXPECT_FALSE(f.tree.free_pages(4));
    f.release({pages[1], pages[2]});

    const auto pinned = f.pages(256);
    const auto pin = f.tree.insert_pinned(ids_from(0, 256), pinned, false, nullptr);
    f.pool->release(pinned[0]);
    EXPECT_FALSE(f.tree.free_pages(4));
    f.tree.unpin(pin);
    EXPECT_TRUE(f.tree.free_pages(4));
    f.pool->release(pinned[1]);
    EXPECT_EQ(f.pool->n_free(), 5);
}

TEST(PrefixTree, KeepsItsBudgetButForPins) {
    Fixture probe(1);
    Fixture f(8, false, {.page_bytes = 2 * probe.pool->page_bytes(), .state_bytes = 0});
    f.keep(ids_from(0, 384));
    EXPECT_EQ(f.tree.n_page(), 2);
    const auto pages = f.pages(384);
    const auto pin = f.tree.insert_pinned(ids_from(5000, 384), pages, false, nullptr);
    f.release(pages);
    EXPECT_EQ(f.tree.find(ids_from(5000, 384)).n_token, 384);
    EXPECT_FALSE(f.tree.free_pages(6));
    f.tree.unpin(pin);
    EXPECT_EQ(f.tree.n_page(), 2);
    f.tree.unpin(pin);  // of no effect
    EXPECT_TRUE(f.tree.free_pages(8));
}

TEST(PrefixTree, RecurrentModelsGoOnFromCheckpointsAlone) {
    const RecurrentShape shape = {.n_layer = 1, .n_head = 1, .dim = 4, .n_channel = 2, .n_history = 1};
    RecurrentState state(shape);
    Fixture f(8, true, {.page_bytes = k_plenty, .state_bytes = 2 * shape.bytes()});
    state.matrix(0)[3] = 7;
    f.keep(ids_from(0, 150), &state);
    state.matrix(0)[3] = 8;
    f.keep(ids_from(0, 200), &state);
    const PrefixMatch first = f.tree.find(ids_from(0, 180));
    EXPECT_EQ(first.n_token, 150);
    ASSERT_NE(first.state, nullptr);
    EXPECT_EQ(first.state->all_matrices()[3], 7);
    EXPECT_EQ(f.tree.find(ids_from(0, 200)).n_token, 200);
    EXPECT_EQ(f.tree.find(ids_from(0, 149)).n_token, 0);
    f.keep(ids_from(900, 20), &state);  // a third: the oldest goes
    EXPECT_EQ(f.tree.n_state(), 2);
    EXPECT_EQ(f.tree.state_bytes(), 2 * shape.bytes());
    EXPECT_EQ(f.tree.find(ids_from(0, 180)).n_token, 0);
    EXPECT_EQ(f.tree.find(ids_from(0, 200)).n_token, 200);
    f.tree.clear();
    EXPECT_EQ(f.tree.n_state(), 0);
    EXPECT_EQ(f.pool->n_free(), 8);
}

// Against a plain list of all that was kept: never more than the longest common beginning, exactly that while
// nothing had to be forgotten, and no page is lost.
TEST(PrefixTree, RandomUseAgreesWithAPlainSearch) {
    for (uint32_t seed = 0; seed < 30; seed++) {
        std::mt19937 random(seed);
        Fixture f(seed % 2 == 0 ? 4096 : 24);
        std::vector<std::vector<int32_t>> kept;
        for (int i = 0; i < 60; i++) {
            std::vector<int32_t> ids;
            if (!kept.empty() && random() % 4 != 0) {
                const auto& from = kept[random() % kept.size()];
                ids.assign(from.begin(), from.begin() + static_cast<int64_t>(random() % (from.size() + 1)));
            }
            for (auto n = random() % 200; n > 0; n--) ids.push_back(static_cast<int32_t>(random() % 2));
            size_t longest = 0;
            for (const auto& k : kept)
                longest =
                    std::max(longest, static_cast<size_t>(std::ranges::mismatch(k, ids).in1 - k.begin()));
            const PrefixMatch match = f.tree.find(ids);
            ASSERT_LE(match.n_token, static_cast<int64_t>(longest));
            if (seed % 2 == 0) {
                ASSERT_EQ(match.n_token, static_cast<int64_t>(longest));
            }
            ASSERT_EQ(static_cast<int64_t>(match.pages.size()), kv_pages(match.n_token));
            if (ids.empty() || !f.tree.free_pages(kv_pages(static_cast<int64_t>(ids.size())))) continue;
            f.keep(ids);
            kept.push_back(ids);
            ASSERT_EQ(f.pool->n_free(), f.pool->n_page() - f.tree.n_page());
        }
        f.tree.clear();
        EXPECT_EQ(f.pool->n_free(), f.pool->n_page());
    }
}

}  // namespace
}  // namespace ft
