// Published chat templates with recorded texts, language cases and hostile templates of $FREETOKEN_TEST_DATA.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "text/chat_template.h"

namespace ft {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string file_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    check(static_cast<bool>(file), "a file of the test data can be read");
    return text.str();
}

std::vector<Json> cases_of(const fs::path& path) {
    std::istringstream text(file_text(path));
    std::vector<Json> cases;
    for (std::string line; std::getline(text, line);) cases.push_back(Json::parse(line));
    return cases;
}

Expected<std::string> render(const Expected<ChatTemplate>& parsed, const Json& context) {
    if (!parsed) return parsed.error();
    RenderOptions options;
    options.now = parse_local_time("2026-01-31T12:34:56");
    return parsed->render(context, options);
}

// The template of a case, which may be given by a rule.
std::string source_of(const Json& c) {
    if (!c.contains("generate")) return c.at("template");
    const Json& g = c.at("generate");
    std::string source = g.at("prefix");
    for (int i = 0; i < g.at("count").get<int>(); i++) source += g.at("repeat").get_ref<const std::string&>();
    source += g.value("middle", "");
    for (int i = 0; i < g.at("count").get<int>(); i++) source += g.value("repeat2", "");
    return source + g.at("suffix").get<std::string>();
}

class TemplateGoldens : public testing::Test {
 protected:
    void SetUp() override {
        const char* data = std::getenv("FREETOKEN_TEST_DATA");
        if (data == nullptr) GTEST_SKIP() << "FREETOKEN_TEST_DATA names no folder with goldens/templates";
        folder_ = fs::path(data) / "goldens" / "templates";
        if (!fs::is_directory(folder_)) GTEST_SKIP() << folder_ << " is not there";
    }
    fs::path folder_;
};

TEST_F(TemplateGoldens, PublishedTemplates) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) {
        if (entry.path().extension() != ".jinja") continue;
        const auto parsed = ChatTemplate::parse(file_text(entry.path()));
        fs::path cases = entry.path();
        for (const Json& c : cases_of(cases.replace_extension(".cases.jsonl"))) {
            SCOPED_TRACE(entry.path().stem().string() + ": " + c.at("name").get<std::string>());
            const auto text = render(parsed, c.at("context"));
            EXPECT_EQ(static_cast<bool>(text), c.contains("text")) << (text ? *text : text.error().what);
            if (text && c.contains("text")) {
                EXPECT_EQ(*text, c.at("text").get<std::string>());
            }
            count++;
        }
    }
    EXPECT_GT(count, 0);
}

TEST_F(TemplateGoldens, Language) {
    for (const Json& c : cases_of(folder_ / "language" / "cases.jsonl")) {
        SCOPED_TRACE(c.at("template").get<std::string>());
        const auto text = render(ChatTemplate::parse(source_of(c)), c.value("context", Json::object()));
        if (!text && c.at("level") == "extra") continue;  // may be refused
        EXPECT_EQ(static_cast<bool>(text), c.contains("text")) << (text ? *text : text.error().what);
        if (text && c.contains("text")) {
            EXPECT_EQ(*text, c.at("text").get<std::string>());
        }
    }
}

TEST_F(TemplateGoldens, Hostile) {
    for (const Json& c : cases_of(folder_ / "hostile" / "cases.jsonl")) {
        SCOPED_TRACE(c.at("name").get<std::string>());
        const auto text = render(ChatTemplate::parse(source_of(c)), c.value("context", Json::object()));
        const std::string must = c.at("must");
        if (must == "error") {
            EXPECT_FALSE(text);
        }
        if (must == "error-or-empty" && text) {
            EXPECT_TRUE(*text == "" || *text == "[Undefined]") << *text;
        }
    }
}

}  // namespace
}  // namespace ft
