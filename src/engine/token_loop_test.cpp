// What a token costs in memory: nothing. This program's operator new counts; builds with a sanitizer, which
// bring their own, leave the file out.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>

#include "engine/golden_models.h"
#include "sample/sampler.h"

namespace {

std::atomic<int64_t> n_allocated{0};

void* counted(void* memory) {
    n_allocated.fetch_add(1, std::memory_order_relaxed);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

// The other forms of new and delete end in these. Not inlined: a compiler that sees malloc() behind new warns
// of it.
[[gnu::noinline]] void* operator new(size_t bytes) {
    return counted(std::malloc(std::max<size_t>(bytes, 1)));
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
    const auto step = static_cast<size_t>(alignment);
    return counted(std::aligned_alloc(step, (std::max<size_t>(bytes, 1) + step - 1) / step * step));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace ft {
namespace {

// An answer of n tokens, each drawn and fed.
bool write_tokens(Session& session, Sampler& sampler, int n) {
    for (int i = 0; i < n; i++) {
        const auto id = sampler.sample(session.logits(), static_cast<uint64_t>(session.n_past()));
        if (!id) return false;
        sampler.accept(*id);
        if (!session.feed({&*id, 1})) return false;
    }
    return true;
}

// Allocations of 140 tokens, which need another page of keys and values, after some that make what is kept.
int64_t allocations_of_tokens(const LoadOptions& options) {
    const auto engine = load(options);
    if (!engine) return -1;
    auto session = engine->new_session();
    EXPECT_TRUE(session);
    std::vector<int32_t> prompt(80);
    std::iota(prompt.begin(), prompt.end(), 3);
    Sampler sampler(SamplerParams{.seed = 1});
    for (const int32_t id : prompt) sampler.accept(id);
    EXPECT_TRUE((*session)->feed(prompt));
    EXPECT_TRUE(write_tokens(**session, sampler, 20));
    const int64_t before = n_allocated;
    EXPECT_TRUE(write_tokens(**session, sampler, 140));
    return n_allocated - before;
}

class TokenLoop : public testing::TestWithParam<const char*> {};

TEST_P(TokenLoop, AllocatesNothing) {
    ASSERT_GT(n_allocated, 0) << "allocations are counted";
    EXPECT_EQ(allocations_of_tokens(options_for(GetParam())), 0);
}

INSTANTIATE_TEST_SUITE_P(Goldens, TokenLoop,
                         testing::Values("llama-kquants", "mixtral-q5k-q40", "qwen2moe-q3k-iq4", "qwen3-f16",
                                         "qwen3moe-q4km", "qwen35moe-q4k"),
                         [](const auto& info) {
                             std::string name = info.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST(TokenLoopOfStreamedExperts, AllocatesNothingEither) {
    for (const bool by_threads : {false, true}) {
        LoadOptions options = streaming_options(k_mixture, 0.3);
        options.reads_by_threads = by_threads;
        EXPECT_EQ(allocations_of_tokens(options), 0) << by_threads;
    }
}

}  // namespace
}  // namespace ft
