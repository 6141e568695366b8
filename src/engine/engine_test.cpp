// The engine on the models of tests/goldens/small: what may not be seen in the bits, and what is refused.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

#include "engine/golden_models.h"
#include "tiers/plan.h"

namespace ft {
namespace {

std::unique_ptr<Engine> load(const std::string& name, int threads, int64_t chunk, int64_t n_ctx = 0) {
    LoadOptions options;
    options.model_path = golden(name);
    options.threads = threads;
    options.chunk = chunk;
    options.n_ctx = n_ctx;
    auto engine = Engine::load(options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().sentence());
    return engine ? std::move(*engine) : nullptr;
}

std::vector<float> all_logits(Engine& engine, const std::vector<int32_t>& ids) {
    std::vector<float> all;
    auto session = engine.new_session();
    EXPECT_TRUE(session);
    const Status fed = (*session)->feed_all(ids, [&](std::span<const float> logits) -> Status {
        all.insert(all.end(), logits.begin(), logits.end());
        return {};
    });
    EXPECT_TRUE(fed);
    return all;
}

class EveryKindOfModel : public testing::TestWithParam<const char*> {};

TEST_P(EveryKindOfModel, ThreadsAndChunksCannotBeSeen) {
    auto one = load(GetParam(), 1, 256);
    ASSERT_NE(one, nullptr);
    const auto ids = some_ids(150, one->n_vocab());  // crosses a chunk of attention
    const auto expected = all_logits(*one, ids);
    for (const auto& [threads, chunk] : {std::pair{3, 256}, {2, 7}, {1, 1}}) {
        auto other = load(GetParam(), threads, chunk);
        ASSERT_NE(other, nullptr);
        EXPECT_TRUE(same_bits(all_logits(*other, ids), expected))
            << threads << " threads, chunks of " << chunk;
    }
}

TEST_P(EveryKindOfModel, AClearedSessionAndARewoundOneGiveTheSameAsANewOne) {
    auto engine = load(GetParam(), 2, 64);
    ASSERT_NE(engine, nullptr);
    const auto ids = some_ids(40, engine->n_vocab());
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    ASSERT_TRUE((*session)->feed(ids));
    const std::vector<float> expected((*session)->logits().begin(), (*session)->logits().end());
    (*session)->clear();
    EXPECT_TRUE((*session)->logits().empty());
    ASSERT_TRUE((*session)->feed(std::span(ids).first(25)));
    ASSERT_TRUE((*session)->feed(some_ids(9, engine->n_vocab())));
    if ((*session)->rewind(25) == 0) {  // recurrent layers
        ASSERT_TRUE((*session)->feed(std::span(ids).first(25)));
    }
    EXPECT_EQ((*session)->n_past(), 25);
    ASSERT_TRUE((*session)->feed(std::span(ids).subspan(25)));
    EXPECT_TRUE(same_bits((*session)->logits(), expected));
}

INSTANTIATE_TEST_SUITE_P(Goldens, EveryKindOfModel,
                         testing::Values("llama-kquants", "mixtral-q5k-q40", "qwen2moe-q3k-iq4", "qwen3-f16",
                                         "qwen3moe-q4km", "qwen35moe-q4k", "qwen35moe-mtp-f16",
                                         "qwen3moe-fp4-ternary"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST_P(EveryKindOfModel, ASavedSessionGoesOnWithTheSameBits) {
    auto engine = load(GetParam(), 1, 64);
    ASSERT_NE(engine, nullptr);
    const auto ids = some_ids(150, engine->n_vocab()), more = some_ids(9, engine->n_vocab());
    const std::string path = testing::TempDir() + "/" + GetParam() + ".sequence";
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    ASSERT_TRUE((*session)->feed(ids));
    ASSERT_TRUE((*session)->save(path, ids, "a note"));
    ASSERT_TRUE((*session)->feed(more));
    auto engine_again = load(GetParam(), 2, 16);
    auto again = engine_again->new_session();
    ASSERT_TRUE(again);
    ASSERT_TRUE((*again)->feed(some_ids(5, engine->n_vocab())));
    const auto saved = (*again)->load(path);
    ASSERT_TRUE(saved) << saved.error().sentence();
    EXPECT_EQ(saved->ids, ids);
    EXPECT_EQ(saved->note, "a note");
    EXPECT_EQ((*again)->n_past(), 150);
    ASSERT_TRUE((*again)->feed(more));
    EXPECT_TRUE(same_bits((*again)->logits(), (*session)->logits()));
}

TEST(Engine, RefusesSavedSequencesThatAreDamagedOrOfAnotherModel) {
    auto engine = load("qwen3moe-q4km", 1, 16, 256);
    ASSERT_NE(engine, nullptr);
    const auto ids = some_ids(20, engine->n_vocab());
    const std::string path = testing::TempDir() + "/refused.sequence";
    auto session = engine->new_session();
    ASSERT_TRUE(session && (*session)->feed(ids) && (*session)->save(path, ids, ""));
    std::ifstream in(path, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    const auto refused = [&](Session& by, const std::string& bytes) {
        std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        const auto loaded = by.load(path);
        EXPECT_FALSE(loaded);
        return loaded ? std::string() : loaded.error().sentence();
    };
    for (const size_t n : {size_t{0}, size_t{10}, size_t{100}, whole.size() - 1})
        EXPECT_NE(refused(**session, whole.substr(0, n)).find("refused.sequence"), std::string::npos) << n;
    for (const size_t at :
         {size_t{0}, size_t{8}, size_t{24}, size_t{32}, size_t{64}, whole.size() / 2, whole.size() - 1}) {
        std::string flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ 1);
        EXPECT_NE(refused(**session, flipped).find("refused.sequence"), std::string::npos) << at;
    }
    auto other = load("qwen3-f16", 1, 16, 256);
    auto of_other = other->new_session();
    ASSERT_TRUE(of_other);
    EXPECT_NE(refused(**of_other, whole).find("another model"), std::string::npos);
    auto small = load("qwen3moe-q4km", 1, 16, 16);
    auto of_small = small->new_session();
    ASSERT_TRUE(of_small);
    EXPECT_NE(refused(**of_small, whole).find("--ctx"), std::string::npos);
}

std::unique_ptr<Engine> load_with_window(int64_t window, int64_t sinks) {
    LoadOptions options;
    options.model_path = golden("qwen3moe-q4km");
    options.threads = 1;
    options.chunk = 16;
    options.n_ctx = 512;
    options.kv.sliding_window = window;
    options.kv.sink_tokens = sinks;
    auto engine = Engine::load(options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().sentence());
    return engine ? std::move(*engine) : nullptr;
}

TEST(Engine, AWindowChangesNothingWhileItHoldsAllAndTakesLessMemory) {
    const auto plain = load_with_window(0, 4), wide = load_with_window(500, 0),
               narrow = load_with_window(64, 4);
    const auto ids = some_ids(400, plain->n_vocab());
    const auto expected = all_logits(*plain, ids), got = all_logits(*narrow, ids);
    EXPECT_TRUE(same_bits(all_logits(*wide, ids), expected));
    const size_t seen = 64 * static_cast<size_t>(plain->n_vocab());
    EXPECT_TRUE(same_bits(std::span(got).first(seen), std::span(expected).first(seen)));
    EXPECT_FALSE(same_bits(got, expected));
    EXPECT_LT(narrow->kv_bytes(), plain->kv_bytes());
}

TEST(Engine, ASavedSessionWithAWindowGoesOnWithTheSameBits) {
    const auto engine = load_with_window(64, 4);
    const auto ids = some_ids(400, engine->n_vocab()), more = some_ids(9, engine->n_vocab());
    const std::string path = testing::TempDir() + "/windowed.sequence";
    auto session = engine->new_session(), again = engine->new_session();
    ASSERT_TRUE(session && again);
    ASSERT_TRUE((*session)->feed(ids));
    ASSERT_TRUE((*session)->save(path, ids, ""));
    ASSERT_TRUE((*session)->feed(more));
    const auto saved = (*again)->load(path);
    ASSERT_TRUE(saved) << saved.error().sentence();
    ASSERT_TRUE((*again)->feed(more));
    EXPECT_TRUE(same_bits((*again)->logits(), (*session)->logits()));
    const auto wider = load_with_window(300, 4);
    auto of_wider = wider->new_session();
    ASSERT_TRUE(of_wider);
    const auto refused = (*of_wider)->load(path);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("shorter window"), std::string::npos);
    EXPECT_EQ((*of_wider)->n_past(), 0);
}

TEST(Engine, RefusesIdsAndLengthsThatDoNotFitAndKeepsTheSession) {
    auto engine = load("qwen3moe-q4km", 1, 16, 32);
    ASSERT_NE(engine, nullptr);
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    ASSERT_TRUE((*session)->feed(some_ids(30, engine->n_vocab())));
    const Status outside = (*session)->feed(std::vector<int32_t>{static_cast<int32_t>(engine->n_vocab())});
    ASSERT_FALSE(outside);
    EXPECT_NE(outside.error().what.find(std::to_string(engine->n_vocab())), std::string::npos);
    const Status too_long = (*session)->feed(some_ids(3, engine->n_vocab()));
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().code, Code::too_large);
    EXPECT_EQ((*session)->n_past(), 30);
    EXPECT_TRUE((*session)->feed(some_ids(2, engine->n_vocab())));
}

TEST(Engine, StopsBetweenChunksAndSaysHowFarItCame) {
    auto engine = load("qwen3moe-q4km", 1, 8);
    ASSERT_NE(engine, nullptr);
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    const std::atomic<bool> stop{true};
    const Status stopped = (*session)->feed(some_ids(30, engine->n_vocab()), &stop);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Code::negative);
    EXPECT_EQ((*session)->n_past(), 0);
}

// The flag is set by the first layer that routes, so the layers behind it are not computed.
class StopsInside : public testing::TestWithParam<const char*> {};

TEST_P(StopsInside, AStepEndsAtItsNextLayerAndLeavesASequenceThatCanGoOn) {
    auto engine = load(GetParam(), 2, 64);
    ASSERT_NE(engine, nullptr);
    const auto ids = some_ids(60, engine->n_vocab());
    const auto expected = all_logits(*engine, ids);
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    ASSERT_TRUE((*session)->feed(std::span(ids).first(10)));
    std::atomic<bool> stop{false};
    std::set<int> layers;
    (*session)->set_route_sink([&](const Route& route) {
        layers.insert(route.layer);
        stop = true;
    });
    const Status stopped = (*session)->feed(std::span(ids).subspan(10), &stop);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Code::negative);
    EXPECT_EQ(layers.size(), 1u);
    (*session)->set_route_sink({});
    const int64_t kept = (*session)->n_past();
    EXPECT_EQ(kept, std::string(GetParam()).starts_with("qwen35") ? 0 : 10);
    ASSERT_TRUE((*session)->feed(std::span(ids).subspan(static_cast<size_t>(kept))));
    const auto last = std::span(expected).last((*session)->logits().size());
    EXPECT_TRUE(same_bits((*session)->logits(), last));
}

INSTANTIATE_TEST_SUITE_P(Goldens, StopsInside, testing::Values("qwen3moe-iq", "qwen35moe-q4k"),
                         [](const auto& info) {
                             return std::string(info.param).substr(0, std::string(info.param).find('-'));
                         });

TEST(Engine, ASingleTokenIsFinishedAlthoughItIsStopped) {
    auto engine = load("qwen35moe-q4k", 1, 8);
    ASSERT_NE(engine, nullptr);
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    std::atomic<bool> stop{false};
    (*session)->set_route_sink([&](const Route&) { stop = true; });
    EXPECT_TRUE((*session)->feed(some_ids(1, engine->n_vocab()), &stop));
    EXPECT_EQ((*session)->n_past(), 1);
}

TEST(Engine, RoutesNameEachExpertOnceAndComeOncePerLayerAndToken) {
    auto engine = load("qwen3moe-q4km", 2, 16);
    ASSERT_NE(engine, nullptr);
    auto session = engine->new_session();
    ASSERT_TRUE(session);
    int lines = 0;
    (*session)->set_route_sink([&](const Route& route) {
        lines++;
        EXPECT_EQ(std::set<int>(route.experts.begin(), route.experts.end()).size(), route.experts.size());
        EXPECT_TRUE(route.position >= 0 && route.position < 20);
    });
    ASSERT_TRUE((*session)->feed(some_ids(20, engine->n_vocab())));
    EXPECT_GT(lines, 0);
    EXPECT_EQ(lines % 20, 0);
}

TEST(Engine, AContextBeyondTheModelsIsRefusedWithBothNumbers) {
    LoadOptions options;
    options.model_path = golden("qwen3moe-q4km");
    options.n_ctx = int64_t{1} << 30;
    const auto engine = Engine::load(options);
    ASSERT_FALSE(engine);
    EXPECT_NE(engine.error().what.find("1073741824"), std::string::npos);
}

bool says(const Engine& engine, const std::string& words) {
    return std::ranges::any_of(
        engine.notes(), [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

// What the memory of keys and values cannot be is refused before weights are read, or said.
TEST(Engine, SettingsOfTheCacheThatDoNotFitTheContextAreRefusedOrSaid) {
    LoadOptions options;
    options.model_path = golden("qwen3moe-q4km");
    options.threads = 1;
    options.chunk = 32;
    options.n_ctx = 512;
    int opened = 0;
    const auto with = [&](const std::function<void(KvOptions&)>& change) {
        options.kv = {};
        change(options.kv);
        opened = 0;
        options.open_file = [&](const std::string& path) {
            opened++;
            return File::open(path);
        };
        return Engine::load(options);
    };
    const auto all_first = with([](KvOptions& kv) {
        kv.sink_tokens = 512;
        kv.auto_evict = true;
    });
    ASSERT_FALSE(all_first);
    EXPECT_NE(all_first.error().what.find("kv_cache.sink_tokens is 512"), std::string::npos);
    EXPECT_NE(all_first.error().remedy.find("511"), std::string::npos);
    EXPECT_EQ(opened, 0);
    const auto small_pool = with([](KvOptions& kv) {
        kv.sliding_window = 64;
        kv.pool_tokens = 256;
    });
    ASSERT_FALSE(small_pool);
    EXPECT_NE(small_pool.error().remedy.find("384"), std::string::npos);
    EXPECT_EQ(opened, 0);

    const auto wide = with([](KvOptions& kv) {
        kv.sliding_window = 1000;
        kv.auto_evict = true;
    });
    ASSERT_TRUE(wide);
    EXPECT_EQ((*wide)->plan().window, 508);
    EXPECT_TRUE(says(**wide, "a token sees the last 508"));
    const auto idle = with([](KvOptions& kv) { kv.sliding_window = 512; });
    ASSERT_TRUE(idle);
    EXPECT_TRUE(says(**idle, "nothing is forgotten"));
    const auto shared = with([](KvOptions& kv) { kv.pool_tokens = 256; });
    ASSERT_TRUE(shared);
    EXPECT_TRUE(says(**shared, "kv_cache.pool_tokens (256)"));
    const auto plain = with([](KvOptions&) {});
    ASSERT_TRUE(plain);
    EXPECT_TRUE((*plain)->notes().empty());
}

TEST(Engine, FewerExpertsThanTheModelsOwnAreSaidAndMoreRefused) {
    LoadOptions options = options_for(k_mixture);  // 8 of 32
    for (const int64_t n : {0, 8}) {
        options.top_k_experts = n;
        const auto own = load(options);
        ASSERT_NE(own, nullptr);
        EXPECT_TRUE(own->notes().empty());
    }
    options.top_k_experts = 3;
    const auto fewer = load(options);
    ASSERT_NE(fewer, nullptr);
    ASSERT_EQ(fewer->notes().size(), 1u);
    EXPECT_NE(fewer->notes()[0].find("3 experts of each layer in place of the model's own 8"),
              std::string::npos);
    auto session = fewer->new_session();
    ASSERT_TRUE(session);
    (*session)->set_route_sink([](const Route& route) { EXPECT_EQ(route.experts.size(), 3u); });
    EXPECT_TRUE((*session)->feed(some_ids(5, fewer->n_vocab())));

    options.top_k_experts = 9;
    const auto more = Engine::load(options);
    ASSERT_FALSE(more);
    EXPECT_NE(more.error().sentence().find("Choose 8 or less"), std::string::npos) << more.error().sentence();
    options.model_path = golden("qwen3-f16");
    EXPECT_FALSE(Engine::load(options)) << "a dense model has no experts to choose";
}

TEST(Engine, WhatIsRefusedBeforeTheWeightsReadsNone) {
    int opened = 0;
    LoadOptions options;
    options.model_path = golden("qwen3moe-f32");
    options.n_ctx = 64;
    options.open_file = [&](const std::string& path) {
        opened++;
        return File::open(path);
    };
    Status ids;
    options.before_weights = [&](const ModelOutline& outline) -> Status {
        EXPECT_EQ(outline.n_ctx, 64);
        EXPECT_TRUE(outline.check_ids(some_ids(64, outline.n_vocab)));
        EXPECT_FALSE(outline.check_ids(some_ids(64, outline.n_vocab), 1));
        const int32_t outside[] = {static_cast<int32_t>(outline.n_vocab)};
        return outline.check_ids(outside);
    };
    const auto refused = Engine::load(options);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("outside the vocabulary"), std::string::npos);
    EXPECT_EQ(opened, 0);
}

}  // namespace
}  // namespace ft
