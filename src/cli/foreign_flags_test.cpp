#include "cli/foreign_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ft::cli {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<OwnFlag>& flags_of_serve() {
    static const std::vector<OwnFlag> own = {{"-m", true},        {"--model", true},        {"--ctx", true},
                                             {"--threads", true}, {"--max-tokens", true},   {"--set", true},
                                             {"--port", true},    {"--seed", true},         {"--temp", true},
                                             {"--system", true},  {"--print-config", false}};
    return own;
}

std::vector<std::string> words_for_serve(const std::vector<std::string>& words) {
    return translate_flags(words, flags_of_serve()).words;
}

TEST(ForeignFlags, ALlamaServerLineWorksAsTyped) {
    const Translated got =
        translate_flags({"-m",   "x.gguf", "-c",   "8192", "-ngl",    "99",     "--n-cpu-moe", "14", "-ctk",
                         "q8_0", "-ctv",   "bf16", "-fa",  "on",      "-t",     "12",          "-b", "2048",
                         "-ub",  "512",    "-np",  "3",    "--jinja", "--port", "8080"},
                        flags_of_serve());
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
                         "0.9", "--enable-expert-parallel", "x.gguf"},
                        flags_of_serve());
    EXPECT_THAT(got.words, ElementsAre("--ctx", "32768", "--set", "kv_cache.quant=fp8", "x.gguf"));
    EXPECT_EQ(got.notes.size(), 2u);
}

TEST(ForeignFlags, WhatLeavesItToTheProgramLeavesItToOurs) {
    EXPECT_THAT(words_for_serve({"-c", "0", "-t", "-1", "-n", "-1", "-np", "-1"}), IsEmpty());
    EXPECT_THAT(words_for_serve({"--threads", "0"}), IsEmpty());
    EXPECT_THAT(words_for_serve({"-fa", "x.gguf"}),
                ElementsAre("--set", "inference.flash_attn=true", "x.gguf"));
    EXPECT_THAT(words_for_serve({"-c"}), ElementsAre("--ctx"));
    EXPECT_THAT(words_for_serve({"-c", "many"}), ElementsAre("--ctx", "many"));
}

// What is so anyway, or has no meaning here, stops no start: a note for each, and nothing is left of it.
TEST(ForeignFlags, WhatChangesNothingIsSaid) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--embeddings"},
                                                  {"--reasoning-format", "deepseek"},
                                                  {"--reasoning-budget", "-1"},
                                                  {"--timeout", "600"},
                                                  {"--timeout=600"},
                                                  {"-to", "600"},
                                                  {"--disable-log-requests"},
                                                  {"-v"},
                                                  {"--verbose"},
                                                  {"-lv", "3"},
                                                  {"--log-disable"},
                                                  {"--threads-http", "4"},
                                                  {"--no-mmproj"},
                                                  {"--numa", "distribute"},
                                                  {"--prio", "2"},
                                                  {"--swa-full"},
                                                  {"--color"},
                                                  {"--color", "auto"},
                                                  {"--single-turn"},
                                                  {"-st"},
                                                  {"--keepalive", "5m"},
                                                  {"-e"},
                                                  {"--no-escape"}}) {
        std::vector<std::string> line = words;
        line.emplace_back("x.gguf");
        const Translated got = translate_flags(line, flags_of_serve());
        EXPECT_THAT(got.words, ElementsAre("x.gguf")) << words.front();
        ASSERT_EQ(got.notes.size(), 1u) << words.front();
        EXPECT_THAT(got.notes[0], HasSubstr(" changes nothing: ")) << words.front();
    }
}

TEST(ForeignFlags, WhatHasOurMeaningBecomesOurs) {
    EXPECT_THAT(words_for_serve({"--num-ctx", "4k"}), ElementsAre("--ctx", "4096"));
    EXPECT_THAT(words_for_serve({"--no-context-shift"}), ElementsAre("--set", "kv_cache.auto_evict=false"));
    EXPECT_THAT(words_for_serve({"--context-shift"}), ElementsAre("--set", "kv_cache.auto_evict=true"));
    EXPECT_THAT(words_for_serve({"--reasoning-budget", "0", "x.gguf"}),
                ElementsAre("--set", "inference.think=off", "x.gguf"));
    EXPECT_THAT(words_for_serve({"-fa", "off"}), ElementsAre("--set", "inference.flash_attn=false"));
    const std::vector<OwnFlag> run = {{"--ctx", true}, {"--stats", false}};
    EXPECT_THAT(translate_flags({"--verbose", "hi"}, run).words, ElementsAre("--stats", "hi"));
}

// The parser refuses them, with our reason (dispatch.cpp).
TEST(ForeignFlags, WhatWouldChangeTheMeaningIsLeft) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--reasoning-format", "none"},
                                                  {"--reasoning-budget", "512"},
                                                  {"--reasoning-budget"},
                                                  {"--override-kv", "a=int:4"},
                                                  {"--log-file", "x.log"}}) {
        EXPECT_EQ(words_for_serve(words), words);
    }
}

TEST(ForeignFlags, ACommandUnderstandsWhatItHasAMeaningFor) {
    const std::vector<OwnFlag> bench = {{"--ctx", true}, {"--threads", true}, {"--pp", true},
                                        {"--tg", true},  {"--depth", true},   {"--reps", true},
                                        {"--set", true}, {"--parallel", true}};
    EXPECT_THAT(translate_flags({"-c", "64", "-p", "512", "-n", "128", "-d", "9", "-r", "2"}, bench).words,
                ElementsAre("--ctx", "64", "--pp", "512", "--tg", "128", "--depth", "9", "--reps", "2"));
    EXPECT_THAT(translate_flags({"--parallel", "1,4", "-s", "3"}, bench).words,
                ElementsAre("--parallel", "1,4", "-s", "3"));  // its own, and what it has not
    const std::vector<OwnFlag> show = {{"--json", false}, {"--tensor", true}};
    const Translated shown = translate_flags({"-c", "5", "-ngl", "9", "--jinja"}, show);
    EXPECT_THAT(shown.words, ElementsAre("-c", "5", "-ngl", "9", "--jinja"));
    EXPECT_THAT(shown.notes, IsEmpty());
}

TEST(ForeignFlags, AValueIsNoFlag) {
    EXPECT_THAT(words_for_serve({"--system", "-c", "x.gguf"}), ElementsAre("--system", "-c", "x.gguf"));
    EXPECT_THAT(words_for_serve({"-sys", "-c", "-c", "9"}), ElementsAre("--system", "-c", "--ctx", "9"));
    EXPECT_THAT(words_for_serve({"--print-config", "-c", "9"}), ElementsAre("--print-config", "--ctx", "9"));
}

TEST(ForeignFlags, OurWordsStayAsTheyAre) {
    const std::vector<std::string> words = {"x.gguf", "--ctx", "100", "--set", "a.b=c", "--nonsense", "-z"};
    EXPECT_EQ(words_for_serve(words), words);
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
