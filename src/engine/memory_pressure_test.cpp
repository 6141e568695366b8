// Other programs take memory while a model answers: slots are given back and taken again, and nothing of it
// can be seen in the bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/bytes.h"
#include "engine/golden_models.h"

namespace ft {
namespace {

struct Readings {
    uint64_t total = 16 * k_mib;
    std::atomic<uint64_t> available{0};
    uint64_t address_space = UINT64_MAX;
    std::atomic<int> n{0};
};

LoadOptions under_watch(LoadOptions options, const std::shared_ptr<Readings>& readings) {
    options.memory_look_seconds = 0;
    options.read_memory = [=]() -> Expected<Ram> {
        readings->n++;
        return Ram{readings->total, readings->available, readings->address_space};
    };
    return options;
}

TEST(MemoryPressure, SlotsAreGivenBackWithoutATraceInTheBits) {
    const auto whole = load(options_for(k_mixture));
    ASSERT_NE(whole, nullptr);
    const auto expected = logits_of(*whole);
    const auto readings = std::make_shared<Readings>();
    LoadOptions options = streaming_options(k_mixture, 0.9);
    readings->available = *options.ram_budget + 400 * k_kib;
    auto engine = load(under_watch(options, readings));
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(same_bits(logits_of(*engine), expected));
    EXPECT_EQ(engine->slots_given_back(), 0);
    const int64_t n_slot = engine->plan().n_ram_slots();

    readings->available = engine->memory_margin() - 100 * k_kib;
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    testing::internal::CaptureStderr();
    ASSERT_TRUE((*session)->feed(some_ids(1, engine->n_vocab())));
    ASSERT_TRUE((*session)->feed(some_ids(1, engine->n_vocab())));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_THAT(said, testing::HasSubstr("other programs need memory"));
    EXPECT_GT(engine->slots_given_back(), 0);
    EXPECT_LT(engine->slots_given_back(), n_slot / 2);
    EXPECT_TRUE(same_bits(logits_of(*engine), expected)) << "with what is left";

    readings->available = 0;
    EXPECT_TRUE(same_bits(logits_of(*engine), expected)) << "with the least";
    EXPECT_EQ(n_slot - engine->slots_given_back(), 8) << "what one layer's step needs stays";
}

TEST(MemoryPressure, TheAddressSpaceThatALimitLeavesIsNoPressureOfOthers) {
    const auto readings = std::make_shared<Readings>();
    LoadOptions options = streaming_options(k_mixture, 0.9);
    readings->available = *options.ram_budget + 400 * k_kib;
    auto engine = load(under_watch(options, readings));
    ASSERT_NE(engine, nullptr);
    readings->address_space = 100 * k_kib;  // once the slots and stacks are there
    logits_of(*engine);
    EXPECT_EQ(engine->slots_given_back(), 0);
    const auto next = Engine::load(under_watch(options, readings));
    ASSERT_FALSE(next) << "a start counts it";
    EXPECT_THAT(next.error().remedy, testing::HasSubstr("ulimit -v"));
}

TEST(MemoryPressure, WhereAllExpertsLieInRamNothingIsWatched) {
    const auto readings = std::make_shared<Readings>();
    readings->total = 64 * k_gib;
    readings->available = 48 * k_gib;
    auto engine = load(under_watch(options_for(k_mixture), readings));
    ASSERT_NE(engine, nullptr);
    ASSERT_TRUE(engine->experts_resident());
    readings->available = 0;
    const int before = readings->n;
    logits_of(*engine);
    EXPECT_EQ(readings->n, before);
    EXPECT_EQ(engine->slots_given_back(), 0);
}

TEST(MemoryPressure, AReadingThatFailsChangesNothing) {
    LoadOptions options = streaming_options(k_mixture, 0.5);
    options.memory_look_seconds = 0;
    const auto works = std::make_shared<bool>(true);
    options.read_memory = [=]() -> Expected<Ram> {
        if (*works) return roomy_memory();
        return Error{Code::io, "no /proc", ""};
    };
    auto engine = load(options);
    ASSERT_NE(engine, nullptr);
    *works = false;
    logits_of(*engine);
    EXPECT_EQ(engine->slots_given_back(), 0);
}

}  // namespace
}  // namespace ft
