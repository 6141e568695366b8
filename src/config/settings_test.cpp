#include "config/settings.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace ft {
namespace {

// A file of the test's own, removed with it. Its name holds no digits.
class ConfigFile {
 public:
    explicit ConfigFile(std::string_view text) : path_(testing::TempDir() + "freetoken-settings-test.yaml") {
        std::ofstream(path_) << text;
    }
    ~ConfigFile() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

 private:
    std::string path_;
};

std::string refusal(const Sources& sources) {
    const Expected<Settings> settings = load_settings(sources);
    if (settings) return "not refused";
    EXPECT_EQ(exit_status(settings.error()), 2);
    return settings.error().sentence();
}

std::string file_refusal(std::string_view text) {
    const ConfigFile file(text);
    std::string said = refusal({.config_path = file.path()});
    EXPECT_NE(said.find(file.path()), std::string::npos) << said;
    return said;
}

Sources::Flag flag(std::string_view key, std::string text) {
    const Key* row = find_key(key);
    return {row, row->flag, std::move(text)};
}

void expect_all(const std::string& said, const std::vector<std::string>& words) {
    for (const std::string& word : words)
        EXPECT_NE(said.find(word), std::string::npos) << said << "\nlacks " << word;
}

std::string without_comments(const std::string& yaml) {
    std::string out;
    std::istringstream lines(yaml);
    for (std::string line; std::getline(lines, line);) out += line.substr(0, line.rfind("  # ")) + "\n";
    return out;
}

TEST(Settings, ADottedKeyIsTheSameAsOneInItsSection) {
    const ConfigFile file("model.path: /m.gguf\ninference.top_k: 5\n");
    const Expected<Settings> settings = load_settings({.config_path = file.path()});
    ASSERT_TRUE(settings) << settings.error().sentence();
    EXPECT_EQ(settings->text("model.path"), "/m.gguf");
    EXPECT_EQ(settings->integer("inference.top_k"), 5);
    expect_all(file_refusal("model.path: /m\nmodel:\n  path: /n\n"), {"line 3", "twice"});
    expect_all(file_refusal("model.paht: /m\n"), {"line 1", "path"});
}

TEST(Settings, Defaults) {
    const Expected<Settings> settings = load_settings({});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->number("inference.temperature"), 0.7);
    EXPECT_EQ(settings->number("inference.top_p"), 0.9);
    EXPECT_EQ(settings->number("inference.repetition_penalty"), 1.1);
    EXPECT_EQ(settings->integer("inference.repeat_last_n"), 64);
    EXPECT_FALSE(settings->has("inference.seed"));
    EXPECT_FALSE(settings->has("model.path"));
    EXPECT_EQ(settings->origin("inference.top_p"), "default");
}

TEST(Settings, EachSourceOverridesTheWeakerOnes) {
    const ConfigFile file("inference:\n  temperature: 0.1\n  top_k: 5\n  top_p: 0.5\n  min_p: 0.5\n");
    const Expected<Settings> settings =
        load_settings({.config_path = file.path(),
                       .environment = {{"FREETOKEN_INFERENCE_TOP_K", "6"},
                                       {"FREETOKEN_INFERENCE_TOP_P", "0.6"},
                                       {"FREETOKEN_INFERENCE_MIN_P", "0.6"},
                                       {"FREETOKEN_INFERENCE_SEED", ""}},
                       .assignments = {"inference.top_p=0.65", "inference.top_p=0.7", "inference.min_p=0.7"},
                       .flags = {flag("inference.min_p", "0.8")}});
    ASSERT_TRUE(settings) << settings.error().what;
    EXPECT_EQ(settings->number("inference.temperature"), 0.1);
    EXPECT_EQ(settings->integer("inference.top_k"), 6);
    EXPECT_EQ(settings->number("inference.top_p"), 0.7);
    EXPECT_EQ(settings->number("inference.min_p"), 0.8);
    EXPECT_EQ(settings->origin("inference.temperature"), file.path() + " line 2");
    EXPECT_EQ(settings->origin("inference.top_k"), "FREETOKEN_INFERENCE_TOP_K");
    EXPECT_EQ(settings->origin("inference.top_p"), "--set");
    EXPECT_EQ(settings->origin("inference.min_p"), "--min-p");
    EXPECT_FALSE(settings->given("inference.seed"));
}

TEST(Settings, AutoAndNullGiveBackTheDefault) {
    const ConfigFile file("model:\ninference:\n  temperature: 0.1\n  top_p: null\n  seed: 3\n");
    const Expected<Settings> settings =
        load_settings({.config_path = file.path(),
                       .flags = {flag("inference.temperature", "auto"), flag("inference.seed", "auto")}});
    ASSERT_TRUE(settings) << settings.error().what;
    EXPECT_EQ(settings->number("inference.temperature"), 0.7);
    EXPECT_FALSE(settings->given("inference.temperature"));
    EXPECT_EQ(settings->number("inference.top_p"), 0.9);
    EXPECT_FALSE(settings->has("inference.seed"));
}

TEST(Settings, TheModelsAdviceStandsBetweenUserAndDefault) {
    Expected<Settings> settings = load_settings({.flags = {flag("inference.top_k", "7")}});
    ASSERT_TRUE(settings);
    EXPECT_TRUE(settings->advise(*find_key("inference.top_k"), "20"));
    EXPECT_TRUE(settings->advise(*find_key("inference.temperature"), "0.6"));
    EXPECT_EQ(settings->integer("inference.top_k"), 7);
    EXPECT_EQ(settings->number("inference.temperature"), 0.6);
    EXPECT_EQ(settings->origin("inference.temperature"), "general.sampling.temp");
    const Status bad = settings->advise(*find_key("inference.top_p"), "7");
    ASSERT_FALSE(bad);
    expect_all(bad.error().what, {"general.sampling.top_p", "7"});
    EXPECT_EQ(settings->number("inference.top_p"), 0.9);
}

TEST(Settings, Lists) {
    const ConfigFile file(
        "inference:\n  stop: [\"\\n\\n\", User]\n  dry_sequence_breakers:\n    - a b\n    - '12'\n");
    Sources sources{.config_path = file.path(), .assignments = {"inference.logit_bias=1+2"}};
    Expected<Settings> settings = load_settings(sources);
    ASSERT_TRUE(settings) << settings.error().what;
    EXPECT_EQ(settings->list("inference.stop"), (std::vector<std::string>{"\n\n", "User"}));
    EXPECT_EQ(settings->list("inference.dry_sequence_breakers"), (std::vector<std::string>{"a b", "12"}));
    EXPECT_EQ(settings->list("inference.logit_bias"), (std::vector<std::string>{"1+2"}));
    sources.flags = {flag("inference.stop", "[\"x\", \"y\"]")};
    settings = load_settings(sources);
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->list("inference.stop"), (std::vector<std::string>{"x", "y"}));
    EXPECT_TRUE(load_settings({})->list("inference.stop").empty());
    expect_all(file_refusal("inference:\n  stop: [a, [b]]\n"), {"list", "line 2"});
    expect_all(file_refusal("inference:\n  stop: [a, {b: c}]\n"), {"list", "line 2"});
    expect_all(file_refusal("inference:\n  stop: {a: b}\n"), {"inference.stop", "a map", "line 2"});
}

TEST(Settings, FileRefusals) {
    expect_all(file_refusal("inference:\n  top_kk: 8\n"), {"top_kk", "top_k", "line 2"});
    expect_all(file_refusal("inference:\n  top_k: 8\n  tempreature: 1\n"),
               {"tempreature", "temperature", "line 3"});
    expect_all(file_refusal("# c\ninferense:\n  top_k: 8\n"), {"inferense", "inference", "line 2"});
    expect_all(file_refusal("elephants:\n  top_k: 8\n"),
               {"elephants", "Known: model, ", "inference", "line 1"});
    expect_all(file_refusal("inference:\n  top_k: lots\n"), {"inference.top_k", "lots", "line 2"});
    expect_all(file_refusal("inference:\n  top_k: [1, 2]\n"), {"inference.top_k", "a list", "line 2"});
    expect_all(file_refusal("inference:\n  top_k: {a: 1}\n"), {"inference.top_k", "a map", "line 2"});
    expect_all(file_refusal("inference: 8\n"), {"inference", "line 1"});
    expect_all(file_refusal("inference:\n  top_k: -3\n"), {"inference.top_k", "-3", "line 2"});
    expect_all(file_refusal("inference:\n  top_k: 8\n  top_k: 9\n"),
               {"inference.top_k", "twice", "line 3", "line 2"});
    expect_all(file_refusal("inference:\n  top_k: 8\ninference:\n  top_p: 1\n"),
               {"inference", "twice", "line 3"});
    expect_all(file_refusal("inference:\n  top_k: \"8\n"), {"not valid YAML"});
}

TEST(Settings, AssignmentAndEnvironmentRefusals) {
    expect_all(refusal({.assignments = {"inference.top_kk=8"}}), {"--set", "top_kk", "top_k"});
    expect_all(refusal({.assignments = {"inferense.top_k=8"}}), {"--set", "inferense", "inference"});
    expect_all(refusal({.assignments = {"inference.top_k"}}), {"--set", "="});
    expect_all(refusal({.assignments = {"inference=8"}}), {"--set", "inference"});
    expect_all(refusal({.assignments = {"inference.top_k=x"}}), {"--set", "inference.top_k", "\"x\""});
    expect_all(refusal({.environment = {{"FREETOKEN_INFERENCE_TOP_K", "abc"}}}),
               {"FREETOKEN_INFERENCE_TOP_K", "abc"});
    expect_all(refusal({.environment = {{"FREETOKEN_INFERENCE_TOP_KK", "8"}}}),
               {"FREETOKEN_INFERENCE_TOP_KK", "Did you mean FREETOKEN_INFERENCE_TOP_K"});
    expect_all(refusal({.flags = {flag("inference.temperature", "hot")}}), {"--temp", "hot"});
    EXPECT_TRUE(load_settings({.environment = {{"FREETOKEN_ISA", "avx2"}, {"FREETOKEN_HUB", "x"}}}));
}

// They would end up in prompts and in JSON. A path may be of any bytes.
TEST(Settings, TextsThatAreNoUtf8AreRefusedByKeyAndPlace) {
    const std::string bad = "caf\xE9", shown = "caf\\xe9";
    for (const char* name :
         {"inference.system", "model.served_model_name", "inference.stop", "model.quant"}) {
        const Key& key = *find_key(name);
        expect_all(refusal({.environment = {{environment_name(key), bad}}}),
                   {environment_name(key), "UTF-8", shown});
        expect_all(refusal({.assignments = {fmt::format("{}={}", name, bad)}}), {"--set", name, shown});
        expect_all(refusal({.presets = {{"Modelfile line 2", name, bad}}}),
                   {"Modelfile line 2", name, shown});
        expect_all(file_refusal(fmt::format("{}:\n  {}: {}\n", key.section, key.name, bad)),
                   {"line 2", name, "UTF-8", shown});
    }
    expect_all(refusal({.flags = {flag("inference.system", bad)}}), {"--system", shown});
    expect_all(refusal({.flags = {flag("inference.stop", list_text({"a", bad}))}}), {"--stop", shown});
    expect_all(file_refusal("inference:\n  stop: [a, " + bad + "]\n"), {"line 2", "inference.stop", shown});
    EXPECT_TRUE(load_settings({.assignments = {"model.path=/m/" + bad}}));
}

TEST(SettingsYaml, GivenBackAsAFileItIsTheSameSettings) {
    const Expected<Settings> first =
        load_settings({.assignments = {"inference.system=a \"b\"\\ #c\nd: 用", "model.path=/m x.gguf"},
                       .flags = {flag("inference.temperature", "0.25"), flag("inference.think", "off"),
                                 flag("inference.stop", list_text({"a \"b\"\n", "\x1b\u202e\\"}))}});
    ASSERT_TRUE(first);
    const std::string text = settings_yaml(*first);
    expect_all(text,
               {"model:\n", "  temperature: 0.25  # --temp\n", "  seed: auto  # default\n",
                "  top_p: auto  # default (the model's own, else 0.9)\n", "  template: null  # default\n"});
    const ConfigFile file(text);
    const Expected<Settings> second = load_settings({.config_path = file.path()});
    ASSERT_TRUE(second) << second.error().what;
    EXPECT_EQ(without_comments(settings_yaml(*second)), without_comments(text));
    EXPECT_FALSE(second->given("inference.top_p"));
    EXPECT_EQ(second->text("inference.system"), "a \"b\"\\ #c\nd: 用");
    EXPECT_EQ(second->list("inference.stop"), (std::vector<std::string>{"a \"b\"\n", "\x1b\u202e\\"}));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
    EXPECT_EQ(second->number("inference.temperature"), 0.25);
    EXPECT_EQ(second->text("inference.think"), "off");
}

TEST(SettingsMarkdown, ThePageInDocsIsUpToDate) {
    std::ifstream page(FREETOKEN_SOURCE_DIR "/docs/settings.md");
    std::stringstream text;
    text << page.rdbuf();
    EXPECT_EQ(text.str(), settings_markdown()) << "run: freetoken_generate settings > docs/settings.md";
}

}  // namespace
}  // namespace ft
