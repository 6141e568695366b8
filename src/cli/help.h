// --help and what the man page shares with it: made from the table of commands and the flags that they
// define.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace ft::cli {

constexpr size_t k_text_width = 80;

// Columns for a text on stdout: the terminal's, between 40 and 100; 80 where it is none.
size_t output_width();

// "-p, --prompt TEXT"
std::string option_term(const CLI::Option& option);
// "TEXT"; "" for a flag without a value.
std::string option_value(const CLI::Option& option);

// `text` in lines of `width` columns at most where it has blanks; all but the first begin with `indent`
// blanks, and the first is taken to begin at that column.
std::string wrapped(std::string_view text, size_t indent, size_t width);

std::string see_help(std::string_view command);  // "See `freetoken run --help`."
std::string usage_line(const Command& command);  // "freetoken run MODEL.gguf [options]"
std::string command_help(const Command& command, const CLI::App& app, size_t width);
std::string program_help(size_t width);  // all commands, one line each

}  // namespace ft::cli
