#include <CLI/CLI.hpp>

#include "cli/man_page.h"

#include "cli/dispatch.h"
#include "cli/help.h"
#include "config/keys.h"

namespace ft::cli {

namespace {

// Text of one line for roff: '\' and '-' are special, and so is '.' or ''' at the start of a line.
std::string roff(std::string_view text) {
    std::string out;
    if (!text.empty() && (text[0] == '.' || text[0] == '\'')) out += "\\&";
    for (const char c : text) {
        if (c == '\\') out += "\\e";
        else if (c == '-') out += "\\-";
        else if (c == '\n') out += ' ';
        else out += c;
    }
    return out;
}

std::string item(const std::string& term, std::string_view text) {
    return fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(term), roff(text));
}

std::string command_section(const Command& command) {
    const DefinedCommand defined = define_command(command);
    std::string text = fmt::format(".SS {}\n{}.\n", roff(usage_line(command)), roff(command.summary));
    for (const CLI::Option* option : defined.app->get_options())
        text += item(option_term(*option), option->get_description());
    return text;
}

}  // namespace

std::string man_page() {
    std::string text = fmt::format(
        ".TH FREETOKEN 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\nfreetoken \\- Mixture\\-of\\-Experts "
        "language models on small machines\n.SH SYNOPSIS\n.nf\n",
        roff(version_line()));
    for (const Command& command : commands()) text += fmt::format("{}\n", roff(usage_line(command)));
    text += ".fi\n.SH COMMANDS\n";
    for (const Command& command : commands()) text += command_section(command);
    text +=
        ".SH SETTINGS\nA setting is taken from its flag, else from \\-\\-set, else from the environment, "
        "else from the "
        "file of \\-\\-config, else it has its default.\n";
    for (const Key& key : keys())
        text += item(dotted(key), fmt::format("{}. Takes {}; default: {}; environment: {}.", key.help,
                                              allowed_values(key), default_text(key), environment_name(key)));
    text +=
        ".SH FILES\n.TP\n\\fI$XDG_DATA_HOME/freetoken/history\\fR\nWhat was typed in chats, for the user "
        "alone; "
        "\\fI~/.local/share/freetoken/history\\fR where XDG_DATA_HOME is not set. It may be removed.\n"
        ".TP\n\\fI$XDG_DATA_HOME/freetoken/models\\fR\nWhat \\fBfreetoken pull\\fR downloaded; the setting "
        "model.store names another folder.\n";
    text +=
        ".SH ENVIRONMENT\n.TP\n\\fBFREETOKEN_HUB\\fR, \\fBFREETOKEN_OLLAMA\\fR\nThe servers that pull asks, "
        "in place of "
        "https://huggingface.co (or HF_ENDPOINT) and https://registry.ollama.ai.\n"
        ".TP\n\\fBHF_TOKEN\\fR\nA token for repositories of the hub that ask for one.\n"
        ".TP\n\\fBhttps_proxy\\fR, \\fBhttp_proxy\\fR, \\fBall_proxy\\fR, \\fBno_proxy\\fR\nProxies, as for "
        "other programs.\n";
    text += ".SH EXAMPLES\n.nf\n";
    for (const Command& command : commands())
        for (const char* example : command.examples) text += fmt::format("{}\n", roff(example));
    text += ".fi\n";
    text +=
        ".SH EXIT STATUS\n0: done. 1: a check says no. 2: input that has to be mended; one sentence on "
        "stderr says "
        "what. 70: a bug of the program. 130: interrupted.\n";
    return text;
}

}  // namespace ft::cli
