// For tests: the small models of tests/goldens, loaded so that their experts stream, and their logits.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tiers/plan.h"

namespace ft {

// A mixture of enough experts to stream.
inline constexpr const char* k_mixture = "qwen3moe-32x8";

inline std::string golden(const std::string& name) {
    const std::string file = name.ends_with("-split") ? "model-00001-of-00002.gguf" : "model.gguf";
    return std::string(FREETOKEN_SOURCE_DIR) + "/tests/goldens/small/" + name + "/" + file;
}

inline std::vector<int32_t> some_ids(int n, int64_t n_vocab) {
    std::vector<int32_t> ids;
    for (int i = 0; i < n; i++) ids.push_back(static_cast<int32_t>((17 + i * 7919) % n_vocab));
    return ids;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// As much memory as anyone could want, whatever the machine does.
inline Expected<Ram> roomy_memory() { return Ram{64ull << 30, 48ull << 30}; }

inline LoadOptions options_for(const std::string& name) {
    LoadOptions options;
    options.model_path = golden(name);
    options.threads = 2;
    options.n_ctx = 256;
    options.chunk = 32;
    options.read_memory = &roomy_memory;
    return options;
}

inline std::unique_ptr<Engine> load(const LoadOptions& options) {
    auto engine = Engine::load(options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().sentence());
    return engine ? std::move(*engine) : nullptr;
}

// A budget between the smallest (share 0) and the largest that does not hold all experts (1).
inline LoadOptions streaming_options(const std::string& name, double share) {
    LoadOptions options = options_for(name);
    const auto whole = load(options);
    if (!whole) return options;
    const uint64_t least = whole->plan().minimum_ram, most = whole->plan().resident_ram - 1;
    options.ram_budget = least + static_cast<uint64_t>(share * static_cast<double>(most - least));
    return options;
}

// Logits of a prompt in one piece, then of tokens one by one.
inline std::vector<float> logits_of(Engine& engine, int n_prompt = 70, int n_more = 6) {
    std::vector<float> all;
    auto session = engine.new_session();
    EXPECT_TRUE(session);
    const auto ids = some_ids(n_prompt + n_more, engine.n_vocab());
    const auto keep = [&](std::span<const float> logits) -> Status {
        all.insert(all.end(), logits.begin(), logits.end());
        return {};
    };
    EXPECT_TRUE((*session)->feed_all(std::span(ids).first(static_cast<size_t>(n_prompt)), keep));
    for (int i = 0; i < n_more; i++)
        EXPECT_TRUE((*session)->feed_all(std::span(ids).subspan(static_cast<size_t>(n_prompt + i), 1), keep));
    return all;
}

}  // namespace ft
