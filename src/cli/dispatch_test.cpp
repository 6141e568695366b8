#include "cli/dispatch.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/help.h"

namespace ft::cli {
namespace {

std::string refusal(const std::vector<std::string>& words) {
    const Expected<int> outcome = run_program(words);
    if (outcome) return "not refused";
    EXPECT_EQ(exit_status(outcome.error()), 2);
    return outcome.error().sentence();
}

TEST(Dispatch, HelpNamesEveryCommandOnALineOfItsOwn) {
    for (const Command& command : commands())
        EXPECT_LE(std::string_view(command.summary).size(), 65u) << command.name;
    for (const Command& command : commands())
        EXPECT_NE(program_help(80).find(fmt::format("  {} ", command.name)), std::string::npos)
            << command.name;
}

TEST(Dispatch, EveryCommandHasHelpAndRefusesUnknownFlags) {
    for (const Command& command : commands()) {
        const DefinedCommand defined = define_command(command);
        for (const CLI::Option* option : defined.app->get_options())
            EXPECT_FALSE(option->get_description().empty()) << command.name << " " << option->get_name();
        EXPECT_NE(
            refusal({command.name, "--no-such-flag-anywhere"}).find("unknown flag --no-such-flag-anywhere"),
            std::string::npos)
            << command.name;
        EXPECT_NE(refusal({command.name, "--hlep"}).find("--help"), std::string::npos) << command.name;
    }
}

TEST(Dispatch, UnknownCommandsAndFlagsBeforeACommand) {
    EXPECT_NE(refusal({"elephants"}).find("unknown command \"elephants\""), std::string::npos);
    EXPECT_NE(refusal({"--versoin"}).find("--version"), std::string::npos);
    EXPECT_NE(refusal({"--frobnicate"}).find("unknown flag --frobnicate"), std::string::npos);
}

std::vector<std::string> words_and_empty(std::vector<std::string> words, const std::string& flag) {
    words.insert(words.end(), {flag, ""});
    return words;
}

// What a variable of the shell that is not set leaves must not be taken for a flag that was not given.
TEST(Dispatch, NoFlagThatNamesAFileTakesAnEmptyText) {
    int n = 0;
    for (const Command& command : commands()) {
        const DefinedCommand defined = define_command(command);
        std::vector<std::string> words = {command.name};
        for (const CLI::Option* option : defined.app->get_options())
            if (option->get_required()) words.emplace_back("x");
        for (const CLI::Option* option : defined.app->get_options()) {
            const std::string value = option_value(*option);
            if (value != "FILE" || option->get_positional()) continue;
            const std::string flag = option->get_lnames().empty() ? "-" + option->get_snames().front()
                                                                  : "--" + option->get_lnames().front();
            EXPECT_NE(refusal(words_and_empty(words, flag)).find("takes the path of a file"),
                      std::string::npos)
                << command.name << " " << flag;
            n++;
        }
    }
    EXPECT_GE(n, 10);
    for (const char* flag : {"--json-schema", "--grammar", "--template", "--config"})
        EXPECT_NE(refusal({"run", "m.gguf", flag, ""}).find(flag), std::string::npos) << flag;
    EXPECT_NE(refusal({"serve", "m.gguf", "--modelfile="}).find("--modelfile"), std::string::npos);
}

size_t longest_line(const std::string& text) {
    size_t longest = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        // the same number of columns: the texts have "…" at most
        longest = std::max(longest, static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) {
                               return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                           })));
    }
    return longest;
}

TEST(Help, FitsTheTerminalAndShowsUsageGroupsAndExamples) {
    for (const size_t width : {60u, 80u, 100u})
        EXPECT_LE(longest_line(program_help(width)), std::max<size_t>(width, 78));
    for (const Command& command : commands()) {
        const DefinedCommand defined = define_command(command);
        const std::string help = command_help(command, *defined.app, 80);
        EXPECT_LE(longest_line(help), 80u) << command.name;
        EXPECT_NE(help.find(fmt::format("Usage: freetoken {} ", command.name)), std::string::npos)
            << command.name;
        EXPECT_NE(help.find("\nOptions:\n"), std::string::npos) << help;
        EXPECT_NE(help.find(fmt::format("\nExamples:\n  {}", command.examples.front())), std::string::npos);
        EXPECT_EQ(help.find(" in ["), std::string::npos) << help;  // the parser's word for a range
        for (const CLI::Option* option : defined.app->get_options())
            EXPECT_NE(help.find("  " + option_term(*option)), std::string::npos) << option->get_name();
    }
}

TEST(Help, WrapsAtBlanks) {
    EXPECT_EQ(wrapped("aaa bbb ccc", 2, 9), "aaa bbb\n  ccc");
    EXPECT_EQ(wrapped("aaaaaaaaaaaa b", 2, 6), "aaaaaaaaaaaa\n  b");
    EXPECT_EQ(wrapped("", 2, 6), "");
}

TEST(Dispatch, EveryCommandWithAModelTakesItByArgumentOrFlag) {
    const std::string missing = "absent-model.gguf";
    for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "-p", "x"},
                                                  {"bench"},
                                                  {"show"},
                                                  {"doctor"},
                                                  {"plan"},
                                                  {"tokenize"},
                                                  {"detokenize"},
                                                  {"render"},
                                                  {"perplexity", "--text", "/dev/null"}}) {
        std::vector<std::string> argument = words, flag = words;
        argument.push_back(missing);
        flag.insert(flag.end(), {"-m", missing});
        EXPECT_NE(refusal(argument).find(missing + ": "), std::string::npos) << words[0];
        EXPECT_EQ(refusal(flag), refusal(argument)) << words[0];
        flag.push_back("other.gguf");
        if (words[0] != "run") {
            EXPECT_NE(refusal(flag).find("given twice"), std::string::npos) << words[0];
        }
    }
    EXPECT_NE(refusal({"run", "--model", missing, "a", "b"}).find("unexpected argument \"b\""),
              std::string::npos);
    EXPECT_NE(refusal({"batch", "x.gguf", "in.jsonl", "-o", "out.jsonl"}).find("file of requests"),
              std::string::npos);
}

TEST(Dispatch, HabitsOfOtherProgramsAreUnderstoodOrAnsweredWithOurNames) {
    EXPECT_NE(refusal({"run", "x.gguf", "-c", "large", "-p", "x"}).find("-c (here --ctx) takes "),
              std::string::npos);
    EXPECT_NE(refusal({"bench", "x.gguf", "-t", "many"}).find("-t (here --threads) takes "),
              std::string::npos);
    EXPECT_NE(refusal({"batch", "x.jsonl", "-o", "y", "-n", "many"}).find("-n (here --max-tokens) takes "),
              std::string::npos);
    EXPECT_NE(refusal({"bench", "x.gguf", "-n", "many"}).find("--tg"), std::string::npos);
    EXPECT_NE(refusal({"show", "x.gguf", "-n", "9"}).find("unknown flag -n"), std::string::npos);
    EXPECT_NE(refusal({"run", "x.gguf", "-f", "x.txt"}).find("Pipe the file in"), std::string::npos);
    EXPECT_NE(refusal({"run", "x.gguf", "-p", "x", "--stats", "-q"}).find("--quiet"), std::string::npos);
    EXPECT_NE(refusal({"run", "x.gguf", "a", "b"}).find("unexpected argument \"b\""), std::string::npos);
    EXPECT_NE(refusal({"run", "x.gguf", "a", "-p", "b"}).find("twice"), std::string::npos);
    EXPECT_NE(refusal({"run", "x.gguf", "-p", "a", "--prompt", "b"}).find("-p is given 2 times"),
              std::string::npos);
    for (const char* flag : {"--system", "--template", "--think"})
        EXPECT_NE(refusal({"run", "x.gguf", "-p", "a", "--raw", flag, "on"}).find(flag), std::string::npos);
}

TEST(Dispatch, OnlyANearFlagIsGuessed) {
    const auto guess = [](const char* command, const char* flag) {
        return refusal({command, "x.gguf", flag});
    };
    EXPECT_EQ(guess("run", "--temprature"), "run: unknown flag --temprature. Did you mean --temperature?");
    EXPECT_EQ(guess("serve", "--temperture=1"),
              "serve: unknown flag --temperture. Did you mean --temperature?");
    EXPECT_EQ(guess("run", "-tempalte"), "run: unknown flag -tempalte. Did you mean --template?");
    for (const char* far : {"--lora", "--keep", "-sq"})
        EXPECT_EQ(guess("serve", far),
                  fmt::format("serve: unknown flag {}. See `freetoken serve --help`.", far));
    EXPECT_EQ(guess("show", "--temprature"), "show: unknown flag --temprature. See `freetoken show --help`.");
}

TEST(Dispatch, CommandsOfOtherProgramsAreAnsweredWithOurs) {
    for (const auto& [word, ours] :
         std::vector<std::pair<std::string, std::string>>{{"ls", "`freetoken list`"},
                                                          {"chat", "`freetoken run MODEL`"},
                                                          {"version", "`freetoken --version`"},
                                                          {"stop", "`freetoken ps`"},
                                                          {"push", "`freetoken pull`"},
                                                          {"cp", "`freetoken list --json`"},
                                                          {"create", "`freetoken serve --modelfile FILE`"}})
        EXPECT_NE(refusal({word}).find(ours), std::string::npos) << refusal({word});
    // none of them is a command of ours, and none that we have is hidden by a hint
    for (const Command& command : commands())
        EXPECT_EQ(refusal({command.name, "--no-such-flag"}).find("unknown command"), std::string::npos);
    EXPECT_EQ(refusal({"xp"}), "unknown command \"xp\". See `freetoken --help`.");
}

TEST(Dispatch, ABundleThatBeginsWithHIsNoHelp) {
    EXPECT_NE(refusal({"run", "-hf", "owner/model"}).find("freetoken pull"), std::string::npos);
    EXPECT_NE(refusal({"serve", "--api-key", "sk-1"}).find("server.api_keys_file"), std::string::npos);
}

TEST(Dispatch, AStreamIsNoFileName) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"show", "-"},
                                                  {"logits", "x.gguf", "--ids", "-"},
                                                  {"trace", "x.gguf", "-o", "-"},
                                                  {"batch", "-", "-o", "out.jsonl"}})
        EXPECT_NE(refusal(words).find("not - for a stream"), std::string::npos);
}

}  // namespace
}  // namespace ft::cli
