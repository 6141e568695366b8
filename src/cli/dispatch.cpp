#include "cli/dispatch.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>

#include "cli/standard_output.h"
#include "config/nearest_name.h"

namespace ft::cli {

namespace {

constexpr size_t k_help_column = 26, k_help_width = 100;

const Command* find_command(std::string_view name) {
    const auto all = commands();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name == name; });
    return found == all.end() ? nullptr : &*found;
}

bool looks_like_flag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

std::vector<std::string> flag_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

std::string see_help(std::string_view command) { return fmt::format("See `freetoken {} --help`.", command); }

Error unknown_flag(const Command& command, const CLI::App& app, std::string_view word) {
    const std::string_view flag = word.substr(0, word.find('='));
    // One dash before a long name is a common slip.
    const std::string as_long =
        "--" + std::string(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())));
    const std::string guess = did_you_mean(as_long, flag_names(app));
    return Error{Code::invalid, fmt::format("{}: unknown flag {}", command.name, flag),
                 guess.empty() ? see_help(command.name) : guess};
}

// What the parser left over: the first unknown flag, else the first argument too many.
Status check_leftovers(const Command& command, const CLI::App& app) {
    const std::vector<std::string> rest = app.remaining();
    const auto flag = std::find_if(rest.begin(), rest.end(), looks_like_flag);
    if (flag != rest.end()) return unknown_flag(command, app, *flag);
    if (rest.empty()) return {};
    return Error{Code::invalid, fmt::format("{}: unexpected argument \"{}\"", command.name, rest.front()),
                 see_help(command.name)};
}

// `--name=` is an empty value; the parser would take the next word for it.
std::vector<std::string> split_empty_values(const std::vector<std::string>& words) {
    std::vector<std::string> out;
    for (const std::string& word : words) {
        const bool empty_value = word.starts_with("--") && word.find('=') == word.size() - 1;
        out.push_back(empty_value ? word.substr(0, word.size() - 1) : word);
        if (empty_value) out.emplace_back();
    }
    return out;
}

// The parser's own message, which names the flag or argument.
Error parse_failure(const Command& command, const CLI::ParseError& failure) {
    std::string text = failure.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return Error{Code::invalid, fmt::format("{}: {}", command.name, text), see_help(command.name)};
}

// Long lines of the parser's help broken at blanks; what follows stands below the description's column.
std::string wrapped(const std::string& help) {
    std::string out;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
        while (line.size() > k_help_width) {
            const size_t blank = line.rfind(' ', k_help_width);
            if (blank == std::string::npos || blank <= k_help_column) break;
            out += line.substr(0, blank) + "\n";
            line = std::string(k_help_column, ' ') + line.substr(blank + 1);
        }
        out += line + "\n";
    }
    return out;
}

Expected<int> run_command(const Command& command, const std::vector<std::string>& words) {
    DefinedCommand defined = define_command(command);
    std::vector<std::string> reversed = split_empty_values(words);
    std::reverse(reversed.begin(), reversed.end());  // the parser takes its words from the back
    try {
        defined.app->parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        write_out(wrapped(defined.app->help()));
        return 0;
    } catch (const CLI::ParseError& failure) {
        const Status leftovers = check_leftovers(command, *defined.app);
        return leftovers ? parse_failure(command, failure) : leftovers.error();
    }
    if (const Status leftovers = check_leftovers(command, *defined.app); !leftovers) return leftovers.error();
    return defined.action();
}

Error unknown_command(std::string_view word) {
    if (looks_like_flag(word)) {
        const std::vector<std::string> names = {"--help", "--version"};
        const std::string guess = did_you_mean(word, names);
        return Error{Code::invalid, fmt::format("unknown flag {}", word),
                     guess.empty() ? "A command comes first: see `freetoken --help`." : guess};
    }
    std::vector<std::string> names;
    for (const Command& command : commands()) names.emplace_back(command.name);
    const std::string guess = did_you_mean(word, names);
    return Error{Code::invalid, fmt::format("unknown command \"{}\"", word),
                 guess.empty() ? "See `freetoken --help`." : guess};
}

}  // namespace

DefinedCommand define_command(const Command& command) {
    DefinedCommand defined;
    defined.app = std::make_unique<CLI::App>(command.summary, fmt::format("freetoken {}", command.name));
    defined.app->allow_extras();  // so that we, not the parser, say what is unknown
    defined.app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    defined.app->get_formatter()->column_width(k_help_column);
    defined.action = command.define(*defined.app);
    return defined;
}

std::string version_line() { return fmt::format("freetoken {}", FREETOKEN_VERSION); }

std::string program_help() {
    std::string text = version_line() + ": Mixture-of-Experts language models on small machines\n\n";
    text += "Usage: freetoken COMMAND [ARGUMENTS]\n\nCommands:\n";
    for (const Command& command : commands())
        text += fmt::format("  {:<12} {}\n", command.name, command.summary);
    text += "\n`freetoken COMMAND --help` explains one command, `freetoken --version` prints the version.\n";
    return text;
}

Expected<int> run_program(const std::vector<std::string>& words) {
    const std::string first = words.empty() ? "--help" : words.front();
    if (first == "--help" || first == "-h" || first == "help") {
        write_out(program_help());
        return 0;
    }
    if (first == "--version") {
        write_out(version_line() + "\n");
        return 0;
    }
    const Command* command = find_command(first);
    if (!command) return unknown_command(first);
    return run_command(*command, {words.begin() + 1, words.end()});
}

}  // namespace ft::cli
