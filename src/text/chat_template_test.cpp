#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace ft {
namespace {

using Json = nlohmann::ordered_json;

const std::string k_templates = FREETOKEN_SOURCE_DIR "/tests/templates/";

ChatTemplate load(const std::string& name) {
    std::ifstream file(k_templates + name);
    std::stringstream source;
    source << file.rdbuf();
    Expected<ChatTemplate> parsed = ChatTemplate::parse(source.str());
    check(static_cast<bool>(file) && static_cast<bool>(parsed), "the test's template can be read and parsed");
    return *parsed;
}

void render_cases(const std::string& name) {
    const ChatTemplate chat = load(name + ".jinja");
    std::ifstream file(k_templates + name + ".cases.jsonl");
    int cases = 0;
    for (std::string line; std::getline(file, line); cases++) {
        const Json c = Json::parse(line);
        SCOPED_TRACE(c.at("name").get<std::string>());
        const auto text = chat.render(c.at("context"));
        ASSERT_EQ(static_cast<bool>(text), c.contains("text"));
        if (text) {
            EXPECT_EQ(*text, c.at("text").get<std::string>());
        } else {
            EXPECT_NE(text.error().what.find(c.at("error").get<std::string>()), std::string::npos)
                << text.error().what;
        }
    }
    EXPECT_GT(cases, 5);
}

TEST(ChatTemplate, RendersConversations) { render_cases("plain"); }
TEST(ChatTemplate, RendersToolsAndThinking) { render_cases("tools"); }

TEST(ChatTemplate, ContextIsAnObject) {
    const auto text = load("plain.jinja").render(Json::array());
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().what.find("object"), std::string::npos);
}

TEST(ChatTemplate, ContextTooDeepIsAnError) {
    Json deep = 1;
    for (int i = 0; i < 1000; i++) deep = Json::array({std::move(deep)});
    const auto parsed = ChatTemplate::parse("{{ 1 }}");
    const auto text = parsed->render({{"deep", deep}});
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().what.find("nested deeper"), std::string::npos);
}

TEST(ChatTemplate, ManyThreadsRenderOneTemplate) {
    const ChatTemplate chat = load("tools.jinja");
    const Json context = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                          {"add_generation_prompt", true}};
    std::vector<std::string> texts(4);
    std::vector<std::thread> threads;
    for (std::string& text : texts)
        threads.emplace_back([&chat, &context, &text] {
            for (int i = 0; i < 200; i++) text = *chat.render(context);
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : texts) EXPECT_EQ(text, "<user>Hi</user>\n<assistant>");
}

TEST(ChatTemplate, StrftimeNowUsesTheClockWithoutAFixedTime) {
    const auto parsed = ChatTemplate::parse("{{ strftime_now('%Y') }}");
    const auto text = parsed->render(Json::object());
    ASSERT_TRUE(text);
    EXPECT_GE(std::stoi(*text), 2024);
}

TEST(ChatContext, HasWhatTemplatesExpect) {
    ChatContext context;
    context.messages.push_back({{"role", "user"}, {"content", "Hi"}});
    context.bos_token = "<s>";
    EXPECT_EQ(context.to_json().dump(),
              R"({"messages":[{"role":"user","content":"Hi"}],"tools":null,"documents":null,)"
              R"("add_generation_prompt":true,"bos_token":"<s>","eos_token":""})");
    context.enable_thinking = false;
    context.extra = {{"bos_token", "<b>"}, {"reasoning_effort", "low"}};
    const Json json = context.to_json();
    EXPECT_EQ(json.at("enable_thinking"), false);
    EXPECT_EQ(json.at("bos_token"), "<b>");
    EXPECT_EQ(json.at("reasoning_effort"), "low");
}

TEST(LocalTime, ReadsIsoTimesOnly) {
    const auto time = parse_local_time("2026-01-31T12:34:56");
    ASSERT_TRUE(time);
    EXPECT_EQ(time->year, 2026);
    EXPECT_EQ(time->month, 1);
    EXPECT_EQ(time->day, 31);
    EXPECT_EQ(time->hour, 12);
    EXPECT_EQ(time->minute, 34);
    EXPECT_EQ(time->second, 56);
    EXPECT_TRUE(parse_local_time("2024-02-29 23:59"));
    for (const char* bad :
         {"", "yesterday", "2026-01-31", "2026-02-30T12:00:00", "2026-13-01T12:00:00", "2026-01-31T24:00:00",
          "2026-01-31T12:60:00", "2026-01-31T12:34:56Z", "2026-01-31T12:34:", "2026-01-31X12:34:56",
          "0000-01-01T00:00:00", "-026-01-31T12:34:56", "2026-01-31T12:34:56 "})
        EXPECT_FALSE(parse_local_time(bad)) << bad;
}

TEST(ChatTemplate, ASourceOfMoreThanAMebibyteIsRefused) {
    EXPECT_TRUE(ChatTemplate::parse(std::string(k_largest_template_bytes, 'a')));
    const auto parsed = ChatTemplate::parse(std::string(k_largest_template_bytes + 1, 'a'));
    ASSERT_FALSE(parsed);
    EXPECT_NE(parsed.error().what.find("1048577 bytes"), std::string::npos);
}

}  // namespace
}  // namespace ft
