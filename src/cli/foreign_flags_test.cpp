#include "cli/foreign_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft::cli {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ForeignFlags, ALlamaServerLineWorksAsTyped) {
    const Translated got =
        translate_flags({"-m",   "x.gguf", "-c",   "8192", "-ngl",    "99",     "--n-cpu-moe", "14", "-ctk",
                         "q8_0", "-ctv",   "bf16", "-fa",  "on",      "-t",     "12",          "-b", "2048",
                         "-ub",  "512",    "-np",  "3",    "--jinja", "--port", "8080"});
    EXPECT_THAT(got.words, ElementsAre("-m", "x.gguf", "--ctx", "8192", "--set", "kv_cache.quant_k=q8_0",
                                       "--set", "kv_cache.quant_v=f16", "--set", "inference.flash_attn=true",
                                       "--threads", "12", "--set", "inference.step_tokens=512", "--set",
                                       "inference.batch_size=3", "--port", "8080"));
    ASSERT_EQ(got.notes.size(), 4u);
    EXPECT_THAT(got.notes[0], HasSubstr("-ngl"));
    EXPECT_THAT(got.notes[0], HasSubstr("freetoken plan"));
}

TEST(ForeignFlags, AVllmLineToo) {
    const Translated got =
        translate_flags({"--max-model-len=32k", "--kv-cache-dtype", "fp8_e4m3", "--gpu-memory-utilization",
                         "0.9", "--enable-expert-parallel", "x.gguf"});
    EXPECT_THAT(got.words, ElementsAre("--ctx", "32768", "--set", "kv_cache.quant=fp8", "x.gguf"));
    EXPECT_EQ(got.notes.size(), 2u);
}

TEST(ForeignFlags, WhatLeavesItToTheProgramLeavesItToOurs) {
    EXPECT_THAT(translate_flags({"-c", "0", "-t", "-1", "-n", "-1", "-np", "-1"}).words, IsEmpty());
    EXPECT_THAT(translate_flags({"-fa", "x.gguf"}).words,
                ElementsAre("--set", "inference.flash_attn=true", "x.gguf"));
    EXPECT_THAT(translate_flags({"-c"}).words, ElementsAre("--ctx"));
    EXPECT_THAT(translate_flags({"-c", "many"}).words, ElementsAre("--ctx", "many"));
}

TEST(ForeignFlags, OurWordsStayAsTheyAre) {
    const std::vector<std::string> words = {"x.gguf", "--ctx", "100", "--set", "a.b=c", "--nonsense", "-z"};
    EXPECT_EQ(translate_flags(words).words, words);
}

TEST(ForeignVariables, BecomeTheWeakestSettings) {
    const ForeignVariables got = translate_variables({{"OLLAMA_HOST", "http://127.0.0.1:11434"},
                                                      {"OLLAMA_CONTEXT_LENGTH", "777"},
                                                      {"OLLAMA_NUM_PARALLEL", "many"},
                                                      {"OLLAMA_GPU_OVERHEAD", "512"},
                                                      {"OLLAMA_DEBUG", "1"}});
    ASSERT_EQ(got.presets.size(), 3u);
    EXPECT_EQ(got.presets[0].text, "127.0.0.1");
    EXPECT_EQ(got.presets[1].text, "11434");
    EXPECT_EQ(got.presets[2].key, "kv_cache.max_context");
    EXPECT_THAT(got.notes, ::testing::Contains(HasSubstr("OLLAMA_NUM_PARALLEL=many is passed over")));
    EXPECT_THAT(got.notes, ::testing::Contains(HasSubstr("OLLAMA_GPU_OVERHEAD changes nothing")));
    EXPECT_THAT(got.notes, ::testing::Contains(HasSubstr("from OLLAMA_CONTEXT_LENGTH")));
}

}  // namespace

}  // namespace ft::cli
