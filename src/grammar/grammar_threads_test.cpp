// Answers of several threads share a grammar and what is known of it.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "grammar/grammar_for_test.h"

namespace ft {
namespace {

TEST(GrammarThreads, StatesOfOneGrammarOnSeveralThreads) {
    const auto made = compile_json_object(byte_tokenizer());
    ASSERT_TRUE(made);
    std::atomic<int> complete{0};
    std::vector<std::thread> threads;
    for (uint32_t seed = 0; seed < 4; seed++)
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            for (int walk = 0; walk < 5; walk++) {
                GrammarState state(*made);
                std::string text;
                while (!state.must_end() && text.size() < 20000) {
                    const auto allowed = state.allowed();
                    if (!allowed) return;
                    std::vector<int32_t> may_come;
                    for (int32_t id = 0; id < 256; id++)
                        if (is_allowed(*allowed, id)) may_come.push_back(id);
                    const int32_t id = may_come[random() % may_come.size()];
                    if (!state.accept(id)) return;
                    text.push_back(static_cast<char>(id));
                }
                if (nlohmann::json::accept(text)) complete++;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(complete, 20);
}

}  // namespace
}  // namespace ft
