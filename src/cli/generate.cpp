// freetoken_generate man|bash|zsh|settings: the documents that are made from the tables of commands and
// settings, on stdout. The build installs the first three; docs/settings.md is kept in the repository and
// compared by a test.
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/standard_output.h"
#include "config/settings.h"

int main(int argc, char** argv) {
    const std::string_view what = argc == 2 ? argv[1] : "";
    std::string text;
    if (what == "man") text = ft::cli::man_page();
    else if (what == "bash") text = ft::cli::bash_completion();
    else if (what == "zsh") text = ft::cli::zsh_completion();
    else if (what == "settings") text = ft::settings_markdown();
    if (text.empty()) {
        std::fputs("usage: freetoken_generate man|bash|zsh|settings\n", stderr);
        return 2;
    }
    return ft::cli::write_out(text) ? 0 : 2;
}
