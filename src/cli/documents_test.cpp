#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "cli/completion.h"
#include "cli/dispatch.h"
#include "cli/man_page.h"
#include "cli/progress_bar.h"
#include "config/keys.h"

namespace ft::cli {
namespace {

TEST(Documents, NameEveryCommandAndFlag) {
    const std::string page = man_page(), bash = bash_completion(), zsh = zsh_completion();
    for (const Command& command : commands()) {
        EXPECT_NE(page.find(fmt::format(".SS freetoken {} ", command.name)), std::string::npos)
            << command.name;
        EXPECT_NE(bash.find(fmt::format("{}) flags=", command.name)), std::string::npos) << command.name;
        EXPECT_NE(zsh.find(fmt::format("'{}:", command.name)), std::string::npos) << command.name;
    }
    for (const Key& key : keys()) {
        if (!*key.flag) continue;
        EXPECT_NE(bash.find(key.flag), std::string::npos) << key.flag;
        EXPECT_NE(zsh.find(fmt::format("'*{}[", key.flag)), std::string::npos) << key.flag;
        EXPECT_NE(page.find(environment_name(key)), std::string::npos) << key.name;
    }
}

TEST(Documents, NoLineOfTheManPageIsARequestByAccident) {
    const std::string page = man_page();
    for (size_t at = 0; (at = page.find("\n.", at)) != std::string::npos; at++) {
        const std::string request = page.substr(at + 1, 3);
        EXPECT_TRUE(request == ".SH" || request == ".SS" || request == ".TP" || request == ".nf" ||
                    request == ".fi")
            << request;
    }
}

// The shells themselves say whether the scripts parse, where they are installed.
TEST(Documents, CompletionIsValidShell) {
    if (std::system("command -v bash >/dev/null 2>&1") != 0) GTEST_SKIP() << "no bash on this machine";
    const std::string path = testing::TempDir() + "freetoken-completion-test";
    std::ofstream(path)
        << bash_completion()
        << "COMP_WORDS=(freetoken run --th); COMP_CWORD=2; _freetoken; echo ${COMPREPLY[@]}\n"
        << "COMP_WORDS=(freetoken run --think h); COMP_CWORD=3; _freetoken; echo ${COMPREPLY[@]}\n"
        << "COMP_WORDS=(freetoken ru); COMP_CWORD=1; _freetoken; echo ${COMPREPLY[@]}\n";
    FILE* shell = popen(fmt::format("bash --norc {}", path).c_str(), "r");
    ASSERT_NE(shell, nullptr);
    std::string said(4096, '\0');
    said.resize(std::fread(said.data(), 1, said.size(), shell));
    EXPECT_EQ(pclose(shell), 0);
    EXPECT_EQ(said, "--threads --think\nhide\nrun\n");
    std::remove(path.c_str());
}

TEST(ProgressLine, ShowsTheShare) {
    EXPECT_EQ(progress_line("loading", 1'200'000'000, 2'400'000'000),
              "loading [###############               ]  50 %");
    EXPECT_NE(progress_line("loading", 0, 0).find("100 %"), std::string::npos);
    EXPECT_NE(progress_line("loading", 5, 2).find("100 %"), std::string::npos);
}

TEST(ProgressLine, IsDueEverySoManySeconds) {
    LineEvery line(10, 100);
    std::vector<Seconds> due;
    for (const Seconds now : {100.0, 105.0, 110.0, 111.0, 119.9, 121.0, 140.0, 149.0, 150.0})
        if (line.is_due(now)) due.push_back(now);
    EXPECT_EQ(due, (std::vector<Seconds>{110, 121, 140, 150}));
}

TEST(ProgressLine, SaysHowLongItStillTakes) {
    EXPECT_EQ(time_left(10, 25, 100), ", 30 s left");
    EXPECT_EQ(time_left(600, 25, 100), ", 30 min left");
    EXPECT_EQ(time_left(7200, 50, 100), ", 2.0 h left");
    EXPECT_EQ(time_left(0.5, 25, 100), "");  // too early to tell
    EXPECT_EQ(time_left(10, 0, 100), "");
    EXPECT_EQ(time_left(10, 100, 100), "");
}

}  // namespace
}  // namespace ft::cli
