#include "cli/chat_loop.h"

#include <gtest/gtest.h>

#include <deque>

namespace ft::cli {
namespace {

using Kind = LineEditor::Line::Kind;

// A chat whose user types `lines` and then Ctrl-D; what was said and what the model was asked.
struct Typed {
    std::deque<LineEditor::Line> lines;
    std::string said, asked, system, changed;
    int resets = 0;
    Status answer_with = {};

    Expected<int> run() {
        return run_chat({.read_line =
                             [&](const std::string&) {
                                 if (lines.empty()) return LineEditor::Line{Kind::end, ""};
                                 LineEditor::Line line = lines.front();
                                 lines.pop_front();
                                 return line;
                             },
                         .say = [&](const std::string& line) { said += line + "\n"; },
                         .answer =
                             [&](const std::string& text) {
                                 asked += "[" + text + "]";
                                 return answer_with;
                             },
                         .reset = [&] { resets++; },
                         .stats = [] { return std::string("seed 7"); },
                         .system = [&] { return system; },
                         .set_system = [&](const std::string& text) { system = text; },
                         .set =
                             [&](const std::string& name, const std::string& value) {
                                 changed += fmt::format("[{}={}]", name, value);
                                 return name + " is set";
                             },
                         .save = [](const std::string& path) { return "saved " + path; },
                         .load = [](const std::string& path) { return "loaded " + path; }});
    }
    static Typed of(std::initializer_list<const char*> texts) {
        Typed typed;
        for (const char* text : texts) typed.lines.push_back({Kind::text, text});
        return typed;
    }
};

TEST(ChatLoop, LinesGoToTheModelAndCommandsDoNot) {
    Typed typed = Typed::of({"Hello.", "/help", "  ", "/usr/bin/ls is what?", "/stats"});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.asked, "[Hello.][/usr/bin/ls is what?]");
    for (const char* word : {"/help", "/system", "/reset", "/stats", "/exit", "seed 7"})
        EXPECT_NE(typed.said.find(word), std::string::npos) << word;
}

TEST(ChatLoop, HelpFitsATerminal) {
    Typed typed = Typed::of({"/help"});
    ASSERT_TRUE(typed.run());
    for (size_t at = 0, end = 0; (end = typed.said.find('\n', at)) != std::string::npos; at = end + 1)
        EXPECT_LE(end - at, 81u) << typed.said.substr(at, end - at);  // bytes: one letter has three
}

TEST(ChatLoop, SavesAndLoadsWhereItIsTold) {
    Typed typed = Typed::of({"/save a file", "/load b", "/save", "/load"});
    ASSERT_TRUE(typed.run());
    for (const char* line : {"saved a file", "loaded b", "/save needs a file", "/load needs a file"})
        EXPECT_NE(typed.said.find(line), std::string::npos) << line;
    EXPECT_EQ(typed.asked, "");
}

TEST(ChatLoop, ExitEndsBeforeTheNextLine) {
    Typed typed = Typed::of({"/exit", "Hello."});
    const Expected<int> status = typed.run();
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 0);
    EXPECT_EQ(typed.asked, "");
}

TEST(ChatLoop, UnknownCommandsNameTheNearest) {
    Typed typed = Typed::of({"/hepl", "/frobnicate"});
    ASSERT_TRUE(typed.run());
    EXPECT_NE(typed.said.find("/hepl is no command. Did you mean /help?"), std::string::npos);
    EXPECT_NE(typed.said.find("/frobnicate is no command. /help lists them."), std::string::npos);
    EXPECT_EQ(typed.asked, "");
}

TEST(ChatLoop, WordsThatAreFarFromACommandGetNoGuess) {
    Typed typed = Typed::of({"/regen", "/sat", "/sytsem", "/rest"});
    ASSERT_TRUE(typed.run());
    EXPECT_NE(typed.said.find("/regen is no command. /help lists them."), std::string::npos);
    for (const char* guess : {"Did you mean /set?", "Did you mean /system?", "Did you mean /reset?"})
        EXPECT_NE(typed.said.find(guess), std::string::npos) << guess << typed.said;
}

TEST(ChatLoop, NamesOfOtherChatsWork) {
    Typed typed = Typed::of({"/?", "/clear", "/show info", "/bye", "Hello."});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.asked, "");
    EXPECT_EQ(typed.resets, 1);
    for (const char* said : {"this list", "seed 7", "A new conversation begins."})
        EXPECT_NE(typed.said.find(said), std::string::npos) << said;
}

TEST(ChatLoop, OllamasShowHasWords) {
    Typed typed = Typed::of({"/show system", "/set system Be brief.", "/show system", "/show parameters"});
    ASSERT_TRUE(typed.run());
    EXPECT_NE(typed.said.find("No system prompt is set."), std::string::npos) << typed.said;
    EXPECT_NE(typed.said.find("System prompt: Be brief."), std::string::npos) << typed.said;
    EXPECT_EQ(typed.said.find("seed 7"), std::string::npos) << typed.said;
    EXPECT_EQ(typed.changed, "[=]");
}

TEST(ChatLoop, SettingsInOurFormAndInOllamas) {
    Typed typed =
        Typed::of({"/set temperature 0.2", "/set parameter  seed 42", "/set", "/set top_k", "/set verbose",
                   "/set quiet", "/set nothink", "/set stop a b", "/set system \"Be brief.\""});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.changed,
              "[temperature=0.2][seed=42][=][top_k=][stats=on][stats=off][think=off][stop=a b]");
    EXPECT_NE(typed.said.find("temperature is set"), std::string::npos);
    EXPECT_EQ(typed.system, "Be brief.");
    EXPECT_EQ(typed.asked, "");
}

TEST(ChatLoop, LinesBetweenQuotesAreOneMessage) {
    Typed typed = Typed::of(
        {"\"\"\"first", "/help \\", "\"\"\"", "\"\"\"one\"\"\"", "\"\"\"", "two", "\"\"\"", "\"\"\"open"});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.asked, "[first\n/help \\][one][two]");
}

TEST(ChatLoop, WhoWantsToLeaveIsToldHow) {
    Typed typed = Typed::of({"exit", "quit", "exit the loop"});
    typed.lines.push_back({Kind::interrupted, ""});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.asked, "[exit the loop]");
    size_t told = 0;
    for (size_t at = 0; (at = typed.said.find("/exit ends the chat", at)) != std::string::npos; at++) told++;
    EXPECT_EQ(told, 3u);
}

TEST(ChatLoop, SystemAndReset) {
    Typed typed = Typed::of({"/system", "/system  Be brief. Always.", "/reset", "/system"});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.system, "Be brief. Always.");
    EXPECT_EQ(typed.resets, 1);
    EXPECT_NE(typed.said.find("No system prompt"), std::string::npos);
    EXPECT_NE(typed.said.find("System prompt: Be brief. Always."), std::string::npos);
    EXPECT_NE(typed.said.find("A new conversation begins. The system prompt stays."), std::string::npos);
    Typed plain = Typed::of({"/reset"});
    ASSERT_TRUE(plain.run());
    EXPECT_EQ(plain.said, "A new conversation begins.\n\n");
}

TEST(ChatLoop, InterruptDropsTheLineAndKeepsTheChat) {
    Typed typed = Typed::of({"first \\", "second", "third \\"});
    typed.lines.push_back({Kind::interrupted, ""});
    typed.lines.push_back({Kind::text, "fourth"});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.asked, "[first \nsecond][fourth]");
}

TEST(ChatLoop, AnErrorOfTheModelEndsTheChat) {
    Typed typed = Typed::of({"Hello.", "Again."});
    typed.answer_with = Error{Code::io, "model.gguf was cut", ""};
    const Expected<int> status = typed.run();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().what, "model.gguf was cut");
    EXPECT_EQ(typed.asked, "[Hello.]");
}

}  // namespace
}  // namespace ft::cli
