#include "cli/served_model_info.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gguf/writer.h"
#include "hub/sha256.h"
#include "text/chat_template.h"

namespace ft::cli {
namespace {

namespace fs = std::filesystem;

class ServedModelInfoTest : public testing::Test {
 protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "freetoken-served-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string put(const std::string& name, const std::string& title) const {
        GgufWriter w;
        w.add("general.architecture", "qwen3moe");
        w.add("general.name", title);
        w.add("qwen3moe.embedding_length", uint32_t{64});
        const std::string path = folder_ + "/" + name;
        std::ofstream(path) << w.bytes();
        return path;
    }
    static ServedModelInfo info(const std::string& path) {
        const auto got = served_model_info("m", path, nullptr);
        EXPECT_TRUE(got) << (got ? "" : got.error().sentence());
        return got ? *got : ServedModelInfo{};
    }

    std::string folder_;
};

TEST_F(ServedModelInfoTest, TheDigestIsTheModelsAndTheSizeTheFiles) {
    const std::string path = put("a.gguf", "one");
    const ServedModelInfo first = info(path);
    EXPECT_TRUE(is_sha256(first.digest)) << first.digest;
    EXPECT_EQ(first.bytes, static_cast<int64_t>(fs::file_size(path)));
    EXPECT_EQ(first.embedding_length, 64);
    EXPECT_EQ(info(put("same.gguf", "one")).digest, first.digest);
    EXPECT_NE(info(put("other.gguf", "two")).digest, first.digest);
    EXPECT_FALSE(served_model_info("m", folder_ + "/absent.gguf", nullptr));
}

TEST_F(ServedModelInfoTest, TheTemplateIsTheOneInUse) {
    const auto chat_template = ChatTemplate::parse("{{ .Prompt }}{{ if .Think }}<think>{{ end }}");
    ASSERT_TRUE(chat_template);
    const auto got = served_model_info("m", put("a.gguf", "one"), &*chat_template);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->template_text, chat_template->source());
    EXPECT_TRUE(got->thinking);
    EXPECT_FALSE(got->tools);
    EXPECT_EQ(info(put("b.gguf", "two")).template_text, "");
}

TEST_F(ServedModelInfoTest, TheNameIsTheSetOneElseThatOfTheListElseTheFiles) {
    ModelChoice choice{.path = "/models/a-Q4_K_M.gguf", .settings = *load_settings({})};
    EXPECT_EQ(served_name(choice), "a-Q4_K_M");
    EXPECT_EQ(choice.shown_name(), "a-Q4_K_M.gguf");
    choice.name = "a:28m";
    EXPECT_EQ(served_name(choice), "a:28m");
    EXPECT_EQ(choice.shown_name(), "a:28m");
    choice.settings = *load_settings({.assignments = {"model.served_model_name=x"}});
    EXPECT_EQ(served_name(choice), "x");
}

}  // namespace
}  // namespace ft::cli
