#include "config/yaml_file.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

std::string yaml_refusal(std::string_view text) {
    const Expected<YamlFile> file = parse_yaml(text, "c.yaml");
    return file ? "not refused" : file.error().what;
}

TEST(YamlFile, SectionsKeysAndLines) {
    const Expected<YamlFile> file = parse_yaml(
        "# comment\n"
        "model:\n"
        "  path: \"a: b\"\n"
        "inference: {top_k: 3, seed: null}\n"
        "empty:\n"
        "last:\n"
        "  list: [1, {a: b}]\n"
        "  map: {c: {d: [e]}}\n"
        "  after: x\n",
        "c.yaml");
    ASSERT_TRUE(file) << file.error().what;
    ASSERT_EQ(file->sections.size(), 4u);
    EXPECT_EQ(file->sections[0].name, "model");
    EXPECT_EQ(file->sections[0].line, 2);
    EXPECT_TRUE(file->sections[2].is_map);
    std::string seen;
    for (const YamlEntry& e : file->entries)
        seen += fmt::format("{}.{}:{}={}/{} ", e.section, e.key, e.line, e.text, static_cast<int>(e.form));
    EXPECT_EQ(seen,
              "model.path:3=a: b/0 inference.top_k:4=3/0 inference.seed:4=/1 last.list:7=/4 last.map:8=/3 "
              "last.after:9=x/0 ");
}

TEST(YamlFile, EmptyFilesAreEmpty) {
    for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "null\n", "{}"}) {
        const Expected<YamlFile> file = parse_yaml(text, "c.yaml");
        ASSERT_TRUE(file) << text;
        EXPECT_TRUE(file->entries.empty());
    }
}

TEST(YamlFile, ADottedKeyAtTheTop) {
    const Expected<YamlFile> file = parse_yaml("model.path: /m.gguf\nmemory:\n  ram_budget: 8\n", "c.yaml");
    ASSERT_TRUE(file);
    ASSERT_EQ(file->entries.size(), 2u);
    EXPECT_EQ(file->entries[0].section, "model");
    EXPECT_EQ(file->entries[0].key, "path");
    EXPECT_EQ(file->entries[0].text, "/m.gguf");
    EXPECT_EQ(file->entries[0].line, 1);
    EXPECT_EQ(file->entries[1].key, "ram_budget");
    EXPECT_EQ(file->sections.size(), 1u);
}

TEST(YamlFile, SectionsThatAreNoMaps) {
    const Expected<YamlFile> file = parse_yaml("memory: 8\nlist: [a]\nnext:\n  k: v\n", "c.yaml");
    ASSERT_TRUE(file);
    ASSERT_EQ(file->sections.size(), 3u);
    EXPECT_FALSE(file->sections[0].is_map);
    EXPECT_FALSE(file->sections[1].is_map);
    EXPECT_TRUE(file->sections[2].is_map);
    ASSERT_EQ(file->entries.size(), 1u);
    EXPECT_EQ(file->entries[0].section, "next");
}

TEST(YamlFile, RefusalsNameTheLine) {
    EXPECT_NE(yaml_refusal("m:\n  k: \"8\n").find("not valid YAML"), std::string::npos);
    EXPECT_NE(yaml_refusal("m:\n\tk: 8\n").find("c.yaml line 2: not valid YAML"), std::string::npos);
    EXPECT_EQ(yaml_refusal("- a\n- b\n"), "c.yaml line 1: sections are expected here (`inference:`)");
    EXPECT_EQ(yaml_refusal("just words\n"), "c.yaml line 1: sections are expected here (`inference:`)");
    EXPECT_EQ(yaml_refusal("m:\n  k: &a 1\n"), "c.yaml line 2: anchors (&name) are not allowed in settings");
    EXPECT_EQ(yaml_refusal("m:\n  k: !!int 1\n"), "c.yaml line 2: tags (!name) are not allowed in settings");
    EXPECT_EQ(yaml_refusal("m:\n  [1]: 2\n"), "c.yaml line 2: the name of a setting is expected here");
    EXPECT_EQ(yaml_refusal("m:\n  k: 1\n---\nm:\n  k: 2\n"), "c.yaml: holds more than one YAML document");
}

TEST(YamlFile, WhatHelpsIsSaid) {
    const auto sentence = [](std::string_view text) {
        const Expected<YamlFile> file = parse_yaml(text, "c.yaml");
        return file ? std::string("not refused") : file.error().sentence();
    };
    for (const char* text : {"m:\n\tk: 8\n", "m:\n  k: 8\n\tl: 9\n"})
        EXPECT_NE(sentence(text).find("the line begins with a tab. Indent it with spaces"), std::string::npos)
            << text << sentence(text);
    EXPECT_NE(sentence("m:\n  k: a: b\n").find("line 2: not valid YAML: a second `: ` in the line"),
              std::string::npos);
    EXPECT_NE(sentence("m:\n  k: [1, 2\nn:\n").find("indented by two spaces"), std::string::npos);
}

TEST(YamlFile, QuotedTextsMustEnd) {
    const std::string open = "not valid YAML: the quotation mark is never closed";
    for (const char* text : {"m:\n  k: \"8\n", "m:\n  k: \"8", "m:\n  k: '8''\n", "m:\n  k: \"8\\\"\n",
                             "m:\n  k: \"8\n  l: \"9\"\n", "m:\n  k: \"8\nn:\n  l: \"9\"\n"})
        EXPECT_NE(yaml_refusal(text), "not refused") << text;
    EXPECT_EQ(yaml_refusal("m:\n  k: \"8\n"), "c.yaml line 2: " + open);
    for (const char* text : {"m:\n  k: \"8\\\"\"\n", "m:\n  k: 'it''s'\n", "m: {k: \"用\", l: '\"'}\n",
                             "m:\n  k: \"two\n\n    lines\"\n", "\xEF\xBB\xBFm:\n  k: \"8\"\n"})
        EXPECT_EQ(yaml_refusal(text), "not refused") << text;
}

TEST(YamlFile, HostileTextsAreRefused) {
    EXPECT_NE(yaml_refusal(std::string(100000, '[')), "not refused");
    EXPECT_NE(yaml_refusal("m: " + std::string(100000, '{')), "not refused");
    std::string bomb = "a: &a [x,x,x,x,x,x,x,x]\n";
    for (char c = 'b'; c < 'z'; c++)
        bomb +=
            fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", c, static_cast<char>(c - 1));
    EXPECT_EQ(yaml_refusal(bomb), "c.yaml line 1: anchors (&name) are not allowed in settings");
    EXPECT_NE(yaml_refusal(std::string("m:\n  k: \0\x01\xff\n", 12)), "");
}

TEST(YamlFile, ANulByteIsRefusedByItsLine) {
    using std::string_view_literals::operator""sv;
    EXPECT_EQ(yaml_refusal("model:\n  path: a\0b\n"sv), "c.yaml line 2: not valid YAML: a NUL byte");
    EXPECT_EQ(yaml_refusal("model:\n  path: a\n\0\n"sv), "c.yaml line 3: not valid YAML: a NUL byte");
    EXPECT_EQ(yaml_refusal("\0model:\n"sv), "c.yaml line 1: not valid YAML: a NUL byte");
    EXPECT_EQ(yaml_refusal("# a\0\n"sv), "c.yaml line 1: not valid YAML: a NUL byte");
}

TEST(ConfigFile, WhatCannotBeRead) {
    const Expected<std::string> missing = read_config_file("no/such/file.yaml");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::not_found);
    EXPECT_NE(missing.error().what.find("no/such/file.yaml"), std::string::npos);
    const Expected<std::string> folder = read_config_file("/");
    ASSERT_FALSE(folder);
    EXPECT_EQ(exit_status(folder.error()), 2);
    const Expected<std::string> endless = read_config_file("/dev/zero");
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().code, Code::too_large);
}

}  // namespace
}  // namespace ft
