// What a quantisation costs, where a user should know before a model is fetched or planned for.
#pragma once

#include <string>

namespace ft::cli {

// "" from 4 bits for a weight on, and where the label says no number.
std::string low_quantisation_note(const std::string& quantisation);

}  // namespace ft::cli
