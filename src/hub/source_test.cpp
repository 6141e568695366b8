#include "hub/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace ft {
namespace {

using testing::HasSubstr;

std::string parsed(const std::string& word) {
    const auto s = parse_source(word, {.hub = "https://hub.test/hf", .ollama = "", .token = {}});
    if (!s) return "refused: " + s.error().sentence();
    switch (s->kind) {
        case ModelSource::Kind::hub:
            return fmt::format("hub {}/{} {} {} {}", s->owner, s->name, s->revision, s->quant, s->file);
        case ModelSource::Kind::ollama:
            return fmt::format("ollama {}/{} {}", s->owner, s->name, s->revision);
        case ModelSource::Kind::url:
            return "url " + s->url;
    }
    return "";
}

TEST(Source, WhatUsersWrite) {
    EXPECT_EQ(parsed("unsloth/Qwen3-30B-A3B-GGUF"), "hub unsloth/Qwen3-30B-A3B-GGUF main  ");
    EXPECT_EQ(parsed("o/r:q4_k_m"), "hub o/r main Q4_K_M ");
    EXPECT_EQ(parsed("hf.co/o/r:Q4_K_M"), "hub o/r main Q4_K_M ");
    EXPECT_EQ(parsed("huggingface.co/o/r"), "hub o/r main  ");
    EXPECT_EQ(parsed("ollama:qwen3"), "ollama library/qwen3 latest");
    EXPECT_EQ(parsed("ollama:qwen3:30b-a3b"), "ollama library/qwen3 30b-a3b");
    EXPECT_EQ(parsed("ollama:someone/model:tag"), "ollama someone/model tag");
    EXPECT_EQ(parsed("https://example.org/m.gguf"), "url https://example.org/m.gguf");
}

TEST(Source, AnAddressOfTheHubIsItsFile) {
    EXPECT_EQ(parsed("https://hub.test/hf/o/r/resolve/main/Q8_0/m.gguf?download=true"),
              "hub o/r main  Q8_0/m.gguf");
    EXPECT_EQ(parsed("https://hub.test/hf/o/r/blob/v2/m.gguf"), "hub o/r v2  m.gguf");
    EXPECT_EQ(parsed("https://hub.test/hf/o/r"), "hub o/r main  ");
    EXPECT_EQ(parsed("https://hub.test/hf/o/m.gguf"), "url https://hub.test/hf/o/m.gguf");
    EXPECT_EQ(parsed("https://hub.test/other/o/r"), "url https://hub.test/other/o/r");
    EXPECT_EQ(parsed("http://hub.test/hf/o/r"), "url http://hub.test/hf/o/r");
}

TEST(Source, RefusesWhatNoServerHas) {
    for (const char* word : {"", "model", "a/b/c", "../x", "o/..", "o/r:", "-x/r", "o/r\n",
                             "ollama:", "ollama:../x:y", "ollama:a/b/c:t", "https://", "o/r:q4/../x"})
        EXPECT_THAT(parsed(word), HasSubstr("refused")) << word;
}

TEST(HubServers, OfTheEnvironment) {
    const auto set = [](const char* hub, const char* token) {
        hub != nullptr ? setenv("FREETOKEN_HUB", hub, 1) : unsetenv("FREETOKEN_HUB");
        token != nullptr ? setenv("HF_TOKEN", token, 1) : unsetenv("HF_TOKEN");
        unsetenv("HF_ENDPOINT");
        return hub_servers_of_environment();
    };
    EXPECT_EQ(set(nullptr, nullptr)->hub, "https://huggingface.co");
    const auto own = set("https://hub.test/hf/", "hf_x");
    ASSERT_TRUE(own);
    EXPECT_EQ(own->hub, "https://hub.test/hf");
    EXPECT_EQ(own->token.origin, "https://hub.test:443");
    EXPECT_TRUE(set("http://127.0.0.1:5", "hf_x"));
    const auto open = set("http://hub.test", "hf_x");
    ASSERT_FALSE(open);
    EXPECT_THAT(open.error().sentence(), HasSubstr("not encrypted"));
    EXPECT_FALSE(set("https://hub.test", "two words"));
    EXPECT_FALSE(set("hub.test", nullptr));
    EXPECT_TRUE(set(nullptr, nullptr));
}

}  // namespace
}  // namespace ft
