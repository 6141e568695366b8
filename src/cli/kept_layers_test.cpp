#include "cli/kept_layers.h"

#include <gtest/gtest.h>

#include "gguf/gguf.h"

namespace ft::cli {

namespace {

std::vector<FileNote> notes_of(std::vector<std::string> assignments) {
    const std::string path = FREETOKEN_SOURCE_DIR "/models/freetoken-demo-q4_k_m.gguf";
    const auto file = Gguf::open(path);
    const auto settings = load_settings({.assignments = std::move(assignments)});
    EXPECT_TRUE(file && settings);
    return file_notes(*settings, *file, path);
}

TEST(KeptLayers, AFileThatIsWhatIsExpectedNeedsNoWord) {
    EXPECT_TRUE(notes_of({"model.quant=q4_k_m", R"(model.keep_fp16_layers=["router", "norm"])"}).empty());
    EXPECT_TRUE(notes_of({}).empty());
}

TEST(KeptLayers, AnotherQuantisationIsAWarningAndANarrowEmbeddingANote) {
    const auto quant = notes_of({"model.quant=q8_0"});
    ASSERT_EQ(quant.size(), 1u);
    EXPECT_TRUE(quant[0].loud);
    EXPECT_NE(quant[0].text.find("q8_0"), std::string::npos);
    EXPECT_NE(quant[0].text.find("Q4_K_M"), std::string::npos);
    const auto embedding = notes_of({R"(model.keep_fp16_layers=["embed"])"});
    ASSERT_EQ(embedding.size(), 1u);
    EXPECT_FALSE(embedding[0].loud);
}

TEST(KeptLayers, AnUnknownLayerIsRefused) {
    const auto settings = load_settings({.assignments = {R"(model.keep_fp16_layers=["routers"])"}});
    ASSERT_TRUE(settings);
    const Status checked = check_kept_layers(*settings);
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().sentence().find("routers"), std::string::npos);
}

}  // namespace

}  // namespace ft::cli
