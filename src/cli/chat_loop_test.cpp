#include "cli/chat_loop.h"

#include <gtest/gtest.h>

#include <deque>

namespace ft::cli {
namespace {

using Kind = LineEditor::Line::Kind;

// A chat whose user types `lines` and then Ctrl-D; what was said and what the model was asked.
struct Typed {
    std::deque<LineEditor::Line> lines;
    std::string said, asked, system;
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

TEST(ChatLoop, CommandsOfOtherProgramsAreUnderstoodOrAnsweredWithOurs) {
    Typed typed = Typed::of({"/set system Be brief.", "/clear", "/?", "/show info", "/set parameter seed 5", "/regen",
                             "exit", "/bye", "Hello."});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.asked, "");
    EXPECT_EQ(typed.system, "Be brief.");
    EXPECT_EQ(typed.resets, 1);
    for (const char* said : {"this list", "seed 7", "freetoken run --help", "not written again", "/exit or Ctrl-D"})
        EXPECT_NE(typed.said.find(said), std::string::npos) << said;
    EXPECT_EQ(typed.said.find("is no command"), std::string::npos) << typed.said;
}

TEST(ChatLoop, QuotesHoldSeveralLines) {
    Typed typed = Typed::of({"\"\"\"one", "two", "", "four\"\"\"", "\"\"\"", "/bye", "\"\"\"",
                             "\"\"\"in one line\"\"\"", "\"\"\"never", "ended"});
    ASSERT_TRUE(typed.run());
    EXPECT_EQ(typed.asked, "[one\ntwo\n\nfour][/bye\n][in one line]");
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
