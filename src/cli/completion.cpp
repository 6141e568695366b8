#include <CLI/CLI.hpp>

#include "cli/completion.h"

#include "cli/dispatch.h"
#include "cli/help.h"
#include "config/keys.h"

namespace ft::cli {

namespace {

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string words_of(const CLI::App& app) {
    std::string words;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_snames()) words += fmt::format(" -{}", name);
        for (const std::string& name : option->get_lnames()) words += fmt::format(" --{}", name);
    }
    return words.empty() ? words : words.substr(1);
}

// The words that a flag's value can be, separated by spaces; "" for a free value.
std::string choices_of(std::string_view flag) {
    for (const Key& key : keys()) {
        if (flag != key.flag || key.kind != Kind::choice) continue;
        std::string words;
        for (const std::string& word : choices(key)) words += word + " ";
        return words + (takes_auto(key) ? "auto" : "");
    }
    return "";
}

std::string zsh_quoted(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\'') out += "'\\''";
        else if (c == '[' || c == ']' || c == ':' || c == '\\') (out += '\\') += c;
        else out += c;
    }
    return out;
}

// One argument of zsh's _arguments: '--temp[help]:X:' or '--json[help]'.
std::string zsh_argument(const CLI::Option& option, const std::string& name) {
    std::string text = fmt::format("'*{}[{}]", name, zsh_quoted(option.get_description()));
    if (takes_value(option)) {
        const std::string words = choices_of(name);
        text += fmt::format(":{}:{}", zsh_quoted(option_value(option)),
                            words.empty() ? "_files" : "(" + words + ")");
    }
    return text + "'";
}

}  // namespace

std::string bash_completion() {
    std::string names, flags, values;
    for (const Command& command : commands()) {
        names += fmt::format(" {}", command.name);
        const DefinedCommand defined = define_command(command);
        flags += fmt::format("        {}) flags=\"{}\" ;;\n", command.name, words_of(*defined.app));
    }
    for (const Key& key : keys())
        if (const std::string words = choices_of(key.flag); *key.flag && !words.empty())
            values += fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                                  key.flag, words);
    return fmt::format(R"(# bash completion for freetoken
_freetoken() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} flags=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{} --help --version" -- "$word"))
        return
    fi
    case $previous in
{}    esac
    case ${{COMP_WORDS[1]}} in
{}    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
        *) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}}
complete -F _freetoken freetoken
)",
                       names.substr(names.empty() ? 0 : 1), values, flags);
}

std::string zsh_completion() {
    std::string names, cases;
    for (const Command& command : commands()) {
        names += fmt::format("        '{}:{}'\n", command.name, zsh_quoted(command.summary));
        const DefinedCommand defined = define_command(command);
        cases += fmt::format("        {})\n            _arguments", command.name);
        for (const CLI::Option* option : defined.app->get_options())
            for (const std::string& name : option->get_lnames())
                cases += fmt::format(" \\\n                {}", zsh_argument(*option, "--" + name));
        cases += " \\\n                '*:file:_files'\n            ;;\n";
    }
    return fmt::format(R"(#compdef freetoken
_freetoken() {{
    local -a names
    names=(
{}    )
    if (( CURRENT == 2 )); then
        _describe command names
        return
    fi
    local name=$words[2]
    shift words
    (( CURRENT-- ))
    case $name in
{}    esac
}}
_freetoken "$@"
)",
                       names, cases);
}

}  // namespace ft::cli
