// Pages and the sequences that hold them: what is taken comes back, what is shared is not written, and what
// was stored is read where it was put.
#include "kv/kv_sequence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "quant/half.h"

namespace ft {
namespace {

constexpr KvShape k_shape{.n_layer = 2, .n_head_kv = 3, .dim_k = 4, .dim_v = 6};

std::unique_ptr<PagePool> pool_of(int64_t n_page) {
    auto pool = PagePool::create(k_shape, n_page);
    EXPECT_TRUE(pool);
    return std::move(*pool);
}

// A value that names its place.
float value_at(int layer, int head, int64_t position, int i) {
    return static_cast<float>((layer * 3 + head) * 2) + static_cast<float>(position % 512) / 512 +
           static_cast<float>(i) * 16;
}

void fill(KvSequence& sequence, int64_t begin, int64_t end, float plus = 0) {
    for (int64_t p = begin; p < end; p++)
        for (int layer = 0; layer < 2; layer++)
            for (int head = 0; head < 3; head++) {
                float k[4], v[6];
                for (int i = 0; i < 4; i++) k[i] = value_at(layer, head, p, i) + plus;
                for (int i = 0; i < 6; i++) v[i] = value_at(layer, head, p, i + 10) + plus;
                sequence.write(layer, head, p, k, v);
            }
}

float read(const std::byte* rows, size_t stride, int64_t row, int i) {
    return half_to_float(load<uint16_t>(rows + stride * static_cast<size_t>(row) + 2 * i));
}

float rounded(float x) { return half_to_float(float_to_half(x)); }

void expect_filled(const KvSequence& sequence, int64_t begin, int64_t end, float plus = 0) {
    for (int64_t p = begin; p < end; p++)
        for (int layer = 0; layer < 2; layer++)
            for (int head = 0; head < 3; head++) {
                const AttendChunk chunk = sequence.chunk(layer, head, p / k_kv_block, k_kv_block);
                for (int i = 0; i < 4; i++)
                    ASSERT_EQ(read(chunk.k, chunk.k_stride, p % k_kv_block, i),
                              rounded(value_at(layer, head, p, i) + plus));
                for (int i = 0; i < 6; i++)
                    ASSERT_EQ(read(chunk.v, chunk.v_stride, p % k_kv_block, i),
                              rounded(value_at(layer, head, p, i + 10) + plus));
            }
}

// "101": by block, 1 where it has a page.
std::string held_of(const KvSequence& sequence) {
    std::string held;
    for (const int32_t page : sequence.pages()) held += page < 0 ? '0' : '1';
    return held;
}

TEST(KvShape, HeadsThatCannotBeCutIntoBlocksStayF16) {
    KvShape shape{.n_layer = 1, .n_head_kv = 1, .dim_k = 96, .dim_v = 80};
    shape.store_as({KvType::q8_0, KvType::q4_0});
    EXPECT_EQ(shape.type_k, KvType::q8_0);
    EXPECT_EQ(shape.type_v, KvType::f16);
    EXPECT_EQ(shape.bytes_per_token(), 96u / 32 * 34 + 80 * 2);
}

TEST(KvSequence, EveryRowHasItsOwnPlace) {
    const auto pool = pool_of(3);
    KvSequence sequence(*pool);
    ASSERT_TRUE(sequence.reserve(300));
    fill(sequence, 0, 300);
    expect_filled(sequence, 0, 300);
}

TEST(KvSequence, TakesAllPagesItNeedsOrNone) {
    const auto pool = pool_of(3);
    KvSequence a(*pool), b(*pool);
    EXPECT_TRUE(a.reserve(129));
    EXPECT_EQ(pool->n_free(), 1);
    EXPECT_FALSE(b.reserve(129));
    EXPECT_EQ(pool->n_free(), 1);
    EXPECT_TRUE(b.reserve(128));
    EXPECT_TRUE(b.reserve(128));
    EXPECT_FALSE(a.reserve(257));
    a.truncate(128);
    EXPECT_EQ(a.pages().size(), 1u);
    EXPECT_EQ(pool->n_free(), 1);
    a = KvSequence(*pool);
    EXPECT_EQ(pool->n_free(), 2);
}

TEST(KvSequence, ASharedPageIsCopiedBeforeItIsWritten) {
    const auto pool = pool_of(3);
    KvSequence first(*pool);
    ASSERT_TRUE(first.reserve(200));
    fill(first, 0, 200);
    {
        KvSequence second(*pool);
        second.adopt(first.pages());
        EXPECT_EQ(pool->n_free(), 1);
        EXPECT_EQ(second.pages()[1], first.pages()[1]);
        ASSERT_TRUE(second.make_private(1));
        EXPECT_NE(second.pages()[1], first.pages()[1]);
        EXPECT_EQ(second.pages()[0], first.pages()[0]);
        fill(second, 150, 256, 0.5f);
        expect_filled(second, 0, 150);
        expect_filled(second, 150, 256, 0.5f);
        EXPECT_FALSE(second.make_private(0)) << "no page is left";
        EXPECT_TRUE(second.make_private(1)) << "it is private already";
    }
    expect_filled(first, 0, 200);
    EXPECT_EQ(pool->n_free(), 1);
}

TEST(KvSequenceDeath, ASharedPageIsNotWritten) {
    const auto pool = pool_of(2);
    KvSequence first(*pool), second(*pool);
    ASSERT_TRUE(first.reserve(1));
    second.adopt(first.pages());
    EXPECT_EXIT(fill(second, 0, 1), testing::ExitedWithCode(70), "shared page");
}

TEST(KvSequence, DroppedBlocksLeaveTheOthersInPlace) {
    const auto pool = pool_of(3);
    KvSequence sequence(*pool);
    ASSERT_TRUE(sequence.reserve(384));
    fill(sequence, 0, 384);
    sequence.drop(1);
    sequence.drop(1);
    EXPECT_EQ(sequence.pages()[1], -1);
    EXPECT_EQ(pool->n_free(), 1);
    ASSERT_TRUE(sequence.reserve(512));
    fill(sequence, 384, 512);
    expect_filled(sequence, 0, 128);
    expect_filled(sequence, 256, 512);
    KvSequence other(*pool);
    other.adopt(sequence.pages());
    EXPECT_EQ(other.pages()[1], -1);
}

TEST(KvSequence, AWindowGivesBackWhatNoTokenSeesAnyMore) {
    const auto pool = pool_of(8);
    KvSequence sequence(*pool);
    ASSERT_TRUE(sequence.reserve(8 * k_kv_block));
    sequence.slide(1000, 0, 4);  // no window
    EXPECT_EQ(pool->n_free(), 0);
    sequence.slide(354, 100, 4);  // sees 255 to 354
    EXPECT_EQ(pool->n_free(), 0);
    sequence.slide(355, 100, 4);  // sees 256 and more
    EXPECT_EQ(pool->n_free(), 1);
    EXPECT_TRUE(sequence.holds(355, 100, 4));
    EXPECT_FALSE(sequence.holds(354, 100, 4));
    sequence.slide(740, 100, 4);
    EXPECT_EQ(held_of(sequence), "10000111");
    KvSequence without_sinks(*pool);
    sequence.truncate(0);
    ASSERT_TRUE(without_sinks.reserve(8 * k_kv_block));
    without_sinks.slide(740, 100, 0);
    EXPECT_EQ(held_of(without_sinks), "00000111");
    EXPECT_TRUE(without_sinks.holds(740, 100, 0));
    EXPECT_FALSE(without_sinks.holds(740, 100, 1));
}

TEST(KvSequence, ARestoredSequenceHasPagesWhereTheStoredOneHadThem) {
    const auto pool = pool_of(5);
    const std::vector<uint8_t> held = {1, 0, 0, 1, 1};
    KvSequence fresh(*pool), begun(*pool);
    ASSERT_TRUE(fresh.restore(held));
    EXPECT_EQ(held_of(fresh), "10011");
    EXPECT_EQ(pool->n_free(), 2);
    ASSERT_TRUE(begun.reserve(2 * k_kv_block));
    EXPECT_FALSE(begun.restore(held));
    fresh.truncate(0);
    begun.truncate(0);
    ASSERT_TRUE(begun.reserve(2 * k_kv_block));
    ASSERT_TRUE(begun.restore(held));
    EXPECT_EQ(held_of(begun), "10011");
    EXPECT_EQ(pool->n_free(), 2);
    fill(begun, 384, 640);
    expect_filled(begun, 384, 640);
}

TEST(PagePool, RandomUseLeaksNothing) {
    constexpr int64_t n_page = 20;
    const auto pool = pool_of(n_page);
    std::mt19937 random(1);
    {
        std::vector<KvSequence> sequences;
        for (int i = 0; i < 10000; i++) {
            const uint32_t what = random() % 8;
            if (sequences.empty() || what == 0) sequences.emplace_back(*pool);
            KvSequence& one = sequences[random() % sequences.size()];
            const auto n_block = static_cast<int64_t>(one.pages().size());
            if (what <= 3) one.reserve((n_block + static_cast<int64_t>(random() % 3)) * k_kv_block);
            else if (what == 4) one.truncate(static_cast<int64_t>(random() % 1000));
            else if (what == 5 && n_block > 0) one.drop(static_cast<int64_t>(random()) % n_block);
            else if (what == 6) {
                KvSequence copy(*pool);
                copy.adopt(one.pages());
                if (n_block > 0 && copy.pages().back() >= 0) copy.make_private(n_block - 1);
                sequences.push_back(std::move(copy));
            } else if (what == 7) {
                std::swap(one, sequences.back());
                sequences.pop_back();
            }
            int64_t used = 0;
            for (int32_t page = 0; page < n_page; page++) used += pool->refs(page) > 0;
            ASSERT_EQ(used + pool->n_free(), n_page);
        }
    }
    EXPECT_EQ(pool->n_free(), n_page);
    for (int32_t page = 0; page < n_page; page++) EXPECT_EQ(pool->refs(page), 0);
}

}  // namespace
}  // namespace ft
