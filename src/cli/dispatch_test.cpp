#include "cli/dispatch.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace ft::cli {
namespace {

std::string refusal(const std::vector<std::string>& words) {
    const Expected<int> outcome = run_program(words);
    if (outcome) return "not refused";
    EXPECT_EQ(exit_status(outcome.error()), 2);
    return outcome.error().sentence();
}

TEST(Dispatch, HelpNamesEveryCommand) {
    for (const Command& command : commands())
        EXPECT_NE(program_help().find(fmt::format("  {} ", command.name)), std::string::npos) << command.name;
}

TEST(Dispatch, EveryCommandHasHelpAndRefusesUnknownFlags) {
    for (const Command& command : commands()) {
        const DefinedCommand defined = define_command(command);
        EXPECT_GT(defined.app->help().size(), 80u) << command.name;
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

}  // namespace
}  // namespace ft::cli
