#include "cli/modelfile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ft::cli {

namespace {

constexpr const char* k_modelfile_text = R"(# a comment
FROM ./model.gguf
PARAMETER num_ctx 4096
PARAMETER num_predict -1
parameter temperature 0.6
PARAMETER stop "User:"
PARAMETER stop <|end|>
PARAMETER num_gpu 99
SYSTEM """Answer
briefly."""
LICENSE "Apache-2.0"
)";

TEST(Modelfile, BecomesSettings) {
    const auto got = parse_modelfile(k_modelfile_text, "/models/Modelfile");
    ASSERT_TRUE(got) << got.error().sentence();
    const auto settings = load_settings({.presets = got->presets});
    ASSERT_TRUE(settings) << settings.error().sentence();
    EXPECT_EQ(settings->text("model.path"), "/models/model.gguf");
    EXPECT_EQ(settings->integer("kv_cache.max_context"), 4096);
    EXPECT_FALSE(settings->given("inference.max_tokens"));
    EXPECT_EQ(settings->number("inference.temperature"), 0.6);
    EXPECT_EQ(settings->list("inference.stop"), (std::vector<std::string>{"User:", "<|end|>"}));
    EXPECT_EQ(settings->text("inference.system"), "Answer\nbriefly.");
    EXPECT_EQ(settings->origin("kv_cache.max_context"), "/models/Modelfile line 3");
    ASSERT_EQ(got->notes.size(), 1u);
    EXPECT_NE(got->notes[0].find("num_gpu"), std::string::npos);
}

TEST(Modelfile, ATemplateIsWeakerThanWhatIsSaidElsewhere) {
    const auto got = parse_modelfile(
        "FROM x.gguf\r\nTEMPLATE \"\"\"{{ if .System }}{{ .System }} \r\n{{ end }} \n \"q\" {{ .Prompt "
        "}}\n\"\"\"  \n"
        "SYSTEM \"two\nlines \"  \nPARAMETER stop \"a\"b\"\nLICENSE \"\"\"\nx\n\"\"\"\nPARAMETER top_k 3\n",
        "Modelfile");
    ASSERT_TRUE(got) << got.error().sentence();
    const auto settings = load_settings({.presets = got->presets});
    ASSERT_TRUE(settings) << settings.error().sentence();
    EXPECT_EQ(settings->text("model.template_text"),
              "{{ if .System }}{{ .System }} \n{{ end }} \n \"q\" {{ .Prompt }}\n");
    EXPECT_EQ(settings->origin("model.template_text"), "Modelfile line 2");
    EXPECT_EQ(settings->text("inference.system"), "two\nlines ");
    EXPECT_EQ(settings->list("inference.stop"), std::vector<std::string>{"a\"b"});
    EXPECT_EQ(settings->integer("inference.top_k"), 3);
    EXPECT_EQ(settings->origin("inference.top_k"), "Modelfile line 12");

    const auto word = [](const std::string& line) {
        const auto file = parse_modelfile(line, "Modelfile");
        return file && file->presets.size() == 1 ? file->presets[0].text : "refused";
    };
    EXPECT_EQ(word("TEMPLATE {{ .Prompt }} "), "{{ .Prompt }}");
    EXPECT_EQ(word("template \"{{ .Prompt }} \""), "{{ .Prompt }} ");
    EXPECT_EQ(word("TEMPLATE \"\"\" a\"\"\""), " a");

    const auto other = load_settings({.assignments = {"model.template_text=mine"}, .presets = got->presets});
    ASSERT_TRUE(other);
    EXPECT_EQ(other->text("model.template_text"), "mine");
}

TEST(Modelfile, AModelIsAFileOrAName) {
    std::string folder = testing::TempDir() + "freetoken-modelfile-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    std::ofstream(folder + "/weights") << "GGUF";
    const auto path_of = [&](const std::string& from) {
        const auto got = parse_modelfile("FROM " + from, folder + "/Modelfile");
        return got && got->presets.size() == 1 ? got->presets[0].text : "refused";
    };
    EXPECT_EQ(path_of("weights"), folder + "/weights");
    EXPECT_EQ(path_of("./absent"), folder + "/absent");
    EXPECT_EQ(path_of("sub/x.gguf"), folder + "/sub/x.gguf");
    for (const char* same :
         {"qwen3:30b-a3b", "OWNER/REPO", "hf.co/OWNER/REPO:Q4_K_M", "/a/x.gguf", "~/x.gguf"})
        EXPECT_EQ(path_of(same), same);
    std::filesystem::remove_all(folder);
}

TEST(Modelfile, RefusalsNameTheLine) {
    for (const char* text : {"\nTEMPLATE \"{{ .Prompt }}", "\nADAPTER x", "\nSYSTEM \"\"\"never closed\nx",
                             "\nPARAMETER num_ctxx 1", "\nNONSENSE x", "\nFROM"}) {
        const auto got = parse_modelfile(text, "Modelfile");
        ASSERT_FALSE(got) << text;
        EXPECT_NE(got.error().what.find("Modelfile line"), std::string::npos) << got.error().what;
    }
    EXPECT_FALSE(read_modelfile("/nowhere/Modelfile"));
}

}  // namespace

}  // namespace ft::cli
