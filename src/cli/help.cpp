#include <CLI/CLI.hpp>

#include "cli/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/dispatch.h"

namespace ft::cli {

namespace {

constexpr size_t k_column = 26;  // where descriptions begin

// Columns of UTF-8 text; the texts here have no wide characters.
size_t columns(std::string_view text) {
    return static_cast<size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// "  TERM      description", the description below where the term is long.
std::string row(std::string_view term, std::string_view description, size_t width) {
    std::string text = fmt::format("  {}", term);
    if (columns(text) + 2 > k_column) text += "\n" + std::string(k_column, ' ');
    else text += std::string(k_column - columns(text), ' ');
    return text + wrapped(description, k_column, width) + "\n";
}

// The titles of groups in the order in which they first come; the parser's own name stands for no group.
std::vector<std::string> group_titles(const CLI::App& app) {
    std::vector<std::string> titles;
    for (const CLI::Option* option : app.get_options())
        if (std::find(titles.begin(), titles.end(), option->get_group()) == titles.end())
            titles.push_back(option->get_group());
    return titles;
}

// What the commands of `freetoken --help` stand under: each title before the command that begins it.
constexpr std::pair<std::string_view, std::string_view> k_parts_of_help[] = {
    {"run", "Answers and models"},
    {"plan", "What fits, what runs, what is in a file"},
    {"logits", "Measuring and verifying"}};

std::string examples_text(const Command& command) {
    std::string text = "\nExamples:\n";
    for (const char* example : command.examples) text += fmt::format("  {}\n", example);
    return text;
}

}  // namespace

size_t output_width() {
    winsize size{};
    if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return k_text_width;
    return std::clamp<size_t>(size.ws_col, 40, 100);
}

std::string option_value(const CLI::Option& option) {
    if (option.get_items_expected_max() == 0) return "";
    const std::string type = option.get_type_name();
    const std::string name = type.substr(0, type.find(':'));  // what follows is the parser's word for a range
    return name == "INT" || name == "UINT" || name == "FLOAT" ? "N" : name;
}

std::string option_term(const CLI::Option& option) {
    std::string names;
    for (const std::string& name : option.get_snames())
        names += fmt::format("{}-{}", names.empty() ? "" : ", ", name);
    for (const std::string& name : option.get_lnames())
        names += fmt::format("{}--{}", names.empty() ? "" : ", ", name);
    if (names.empty()) return option_value(option);
    const std::string value = option_value(option);
    return value.empty() ? names : names + " " + value;
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
    std::string out;
    size_t at = indent;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        const bool begins = out.empty() || out.back() == ' ';
        if (at > indent && at + 1 + columns(word) > width) {
            out += "\n" + std::string(indent, ' ');
            at = indent;
        } else if (!begins || (at > indent && !word.empty())) {
            out += ' ';
            at++;
        }
        out += word;
        at += columns(word);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string see_help(std::string_view command) { return fmt::format("See `freetoken {} --help`.", command); }

std::string usage_line(const Command& command) {
    return fmt::format("freetoken {} {}", command.name, command.arguments);
}

std::string command_help(const Command& command, const CLI::App& app, size_t width) {
    std::string text =
        fmt::format("{}\n\nUsage: {}\n",
                    wrapped(fmt::format("freetoken {}: {}", command.name, command.summary), 0, width),
                    wrapped(usage_line(command), 7, width));
    std::string arguments;
    for (const CLI::Option* option : app.get_options())
        if (option->get_positional())
            arguments += row(option_term(*option), option->get_description(), width);
    if (!arguments.empty()) text += "\nArguments:\n" + arguments;
    for (const std::string& title : group_titles(app)) {
        std::string rows;
        for (const CLI::Option* option : app.get_options())
            if (!option->get_positional() && option->get_group() == title)
                rows += row(option_term(*option), option->get_description(), width);
        if (!rows.empty()) text += fmt::format("\n{}:\n{}", title, rows);
    }
    return text + examples_text(command);
}

std::string program_help(size_t width) {
    std::string text =
        wrapped(version_line() + ": Mixture-of-Experts language models on small machines", 0, width);
    text += "\n\nUsage: freetoken COMMAND [ARGUMENTS]\n";
    for (const Command& command : commands()) {
        for (const auto& [first, title] : k_parts_of_help)
            if (command.name == first) text += fmt::format("\n{}:\n", title);
        text += fmt::format("  {:<12} {}\n", command.name, wrapped(command.summary, 15, width));
    }
    text += "\nExamples:\n";
    for (const Command& command : commands())
        for (const std::string_view name : {"pull", "plan", "run", "serve"})
            if (command.name == name) text += fmt::format("  {}\n", command.examples.front());
    text += "\n" + wrapped(
                       "`freetoken COMMAND --help` explains one command, `man freetoken` all of them. MODEL "
                       "is a GGUF file or a name of `freetoken list`. `freetoken --version` prints the "
                       "version.",
                       0, width);
    return text + "\n";
}

}  // namespace ft::cli
