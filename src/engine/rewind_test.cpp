// Sessions that go back to where their state was kept: what they hold then is what a fresh reading gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "engine/golden_models.h"

namespace ft {
namespace {

LoadOptions keeping(const std::string& name) {
    LoadOptions options = options_for(name);
    options.n_ctx = 512;
    options.kv.state_checkpoint_bytes = 1 << 20;
    return options;
}

std::unique_ptr<Session> session_of(Engine& engine) {
    auto session = engine.new_session();
    EXPECT_TRUE(session);
    return std::move(*session);
}

std::vector<float> logits_after(Session& session, std::span<const int32_t> ids) {
    EXPECT_TRUE(session.feed(ids));
    return {session.logits().begin(), session.logits().end()};
}

std::vector<int32_t> other_ids(int n, int64_t n_vocab) {
    std::vector<int32_t> ids = some_ids(n, n_vocab);
    std::reverse(ids.begin(), ids.end());
    return ids;
}

class GoesBack : public testing::TestWithParam<const char*> {};

TEST_P(GoesBack, ToTheNewestPlaceThatWasKeptAndReadsOnWithTheSameBits) {
    const auto engine = load(keeping(GetParam()));
    ASSERT_NE(engine, nullptr);
    const auto ids = some_ids(140, engine->n_vocab()), others = other_ids(9, engine->n_vocab());
    const auto part = [&](int from, int to) {
        return std::span(ids).subspan(static_cast<size_t>(from), static_cast<size_t>(to - from));
    };
    const auto expected = logits_after(*session_of(*engine), ids);
    const auto session = session_of(*engine);
    ASSERT_TRUE(session->keeps_states());
    ASSERT_TRUE(session->feed(part(0, 20)));
    session->keep_state();
    ASSERT_TRUE(session->feed(part(20, 60)));
    session->keep_state();
    ASSERT_TRUE(session->feed(others));
    EXPECT_EQ(session->rewind(65), 60);
    EXPECT_EQ(session->n_past(), 60);
    EXPECT_TRUE(session->logits().empty());
    EXPECT_TRUE(same_bits(logits_after(*session, part(60, 140)), expected));
    EXPECT_EQ(session->rewind(59), 20);
    ASSERT_TRUE(session->feed(others));
    EXPECT_EQ(session->rewind(28), 20);  // what was kept at 60 belongs to other ids
    EXPECT_TRUE(same_bits(logits_after(*session, part(20, 140)), expected));
    EXPECT_EQ(session->rewind(19), 0);
    EXPECT_TRUE(same_bits(logits_after(*session, ids), expected));
    EXPECT_EQ(session->rewind(139), 0);
}

TEST_P(GoesBack, WhenAStepIsStoppedInside) {
    const auto engine = load(keeping(GetParam()));
    ASSERT_NE(engine, nullptr);
    const auto ids = some_ids(90, engine->n_vocab());
    const auto expected = logits_after(*session_of(*engine), ids);
    const auto session = session_of(*engine);
    ASSERT_TRUE(session->feed(std::span(ids).first(10)));
    session->keep_state();
    ASSERT_TRUE(session->feed(std::span(ids).subspan(10, 5)));
    std::atomic<bool> stop{false};
    session->set_route_sink([&](const Route&) { stop = true; });
    EXPECT_FALSE(session->feed(std::span(ids).subspan(15), &stop));
    session->set_route_sink({});
    EXPECT_EQ(session->n_past(), 10);
    EXPECT_TRUE(same_bits(logits_after(*session, std::span(ids).subspan(10)), expected));
}

TEST_P(GoesBack, NotWhereAWindowHasMovedOn) {
    LoadOptions options = keeping(GetParam());
    options.kv.sliding_window = 64;
    options.kv.sink_tokens = 0;
    const auto engine = load(options);
    ASSERT_NE(engine, nullptr);
    const auto ids = some_ids(400, engine->n_vocab());
    const auto expected = logits_after(*session_of(*engine), ids);
    const auto session = session_of(*engine);
    ASSERT_TRUE(session->feed(std::span(ids).first(150)));
    session->keep_state();
    ASSERT_TRUE(session->feed(std::span(ids).subspan(150)));
    EXPECT_EQ(session->rewind(160), 0);
    EXPECT_TRUE(same_bits(logits_after(*session, std::span(ids).first(390)),
                          logits_after(*session_of(*engine), std::span(ids).first(390))));
    session->keep_state();
    ASSERT_TRUE(session->feed(other_ids(3, engine->n_vocab())));
    EXPECT_EQ(session->rewind(391), 390);
    EXPECT_TRUE(same_bits(logits_after(*session, std::span(ids).subspan(390)), expected));
}

TEST_P(GoesBack, NotBehindWhatWasClearedOrLoaded) {
    const auto engine = load(keeping(GetParam()));
    ASSERT_NE(engine, nullptr);
    const auto ids = some_ids(40, engine->n_vocab());
    const std::string path = testing::TempDir() + "/rewound.sequence";
    const auto session = session_of(*engine);
    ASSERT_TRUE(session->feed(ids));
    session->keep_state();
    ASSERT_TRUE(session->save(path, ids, ""));
    session->clear();
    ASSERT_TRUE(session->feed(other_ids(50, engine->n_vocab())));
    EXPECT_EQ(session->rewind(45), 0);
    ASSERT_TRUE(session->feed(std::span(ids).first(20)));
    session->keep_state();
    ASSERT_TRUE(session->load(path));
    EXPECT_EQ(session->rewind(30), 0);
}

INSTANTIATE_TEST_SUITE_P(Goldens, GoesBack,
                         testing::Values("qwen35moe-f32", "qwen35moe-q4k", "qwen35moe-mtp-f16"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(GoesBackWithStreamedExperts, WithTheSameBits) {
    LoadOptions options = streaming_options("qwen35moe-f32", 0.9);
    options.kv.state_checkpoint_bytes = 1 << 20;
    const auto engine = load(options);
    ASSERT_NE(engine, nullptr);
    ASSERT_FALSE(engine->experts_resident());
    const auto ids = some_ids(80, engine->n_vocab());
    const auto expected = logits_after(*session_of(*engine), ids);
    const auto session = session_of(*engine);
    EXPECT_LE(engine->plan().total.ram, *options.ram_budget);
    ASSERT_TRUE(session->keeps_states());
    ASSERT_TRUE(session->feed(std::span(ids).first(33)));
    session->keep_state();
    ASSERT_TRUE(session->feed(other_ids(5, engine->n_vocab())));
    EXPECT_EQ(session->rewind(36), 33);
    EXPECT_TRUE(same_bits(logits_after(*session, std::span(ids).subspan(33)), expected));
}

TEST(Rewind, WithoutMemoryForStatesAllIsDropped) {
    LoadOptions options = keeping("qwen35moe-f32");
    options.kv.state_checkpoint_bytes = 0;
    const auto engine = load(options);
    ASSERT_NE(engine, nullptr);
    const auto session = session_of(*engine);
    EXPECT_FALSE(session->keeps_states());
    ASSERT_TRUE(session->feed(some_ids(10, engine->n_vocab())));
    session->keep_state();
    EXPECT_EQ(session->rewind(10), 10);
    EXPECT_EQ(session->rewind(9), 0);
}

TEST(Rewind, AttentionAloneGoesBackAnywhere) {
    const auto engine = load(keeping("qwen3moe-q4km"));
    ASSERT_NE(engine, nullptr);
    const auto session = session_of(*engine);
    EXPECT_FALSE(session->keeps_states());
    ASSERT_TRUE(session->feed(some_ids(10, engine->n_vocab())));
    EXPECT_EQ(session->rewind(3), 3);
}

}  // namespace
}  // namespace ft
