// Checks of numbers on the command line. The parser alone reads 010 as eight, takes 0x10, and lets nan
// through every range. To be given to an option's transform().
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string_view>

namespace ft::cli {

CLI::Validator whole_number(int64_t least, int64_t most);  // decimal digits, with a sign or leading zeros
CLI::Validator real_number(double least, double most,
                           std::string_view unit = "");  // that the complaint names

}  // namespace ft::cli
