// Words that users of other programs type by habit: llama-server's and vLLM's flags, Ollama's variables. Each
// is understood, or answered with our name for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace ft::cli {

struct Translated {
    std::vector<std::string> words;  // with our flags in place of others'
    std::vector<std::string> notes;  // a sentence for each that has another meaning here, or none
};
Translated translate_flags(const std::vector<std::string>& words);

struct ForeignVariables {
    std::vector<Sources::Preset> presets;
    std::vector<std::string> notes;
};
// variables: names and values of the whole environment; others than OLLAMA_* are not looked at. Where a value
// makes no sense, a note says so and nothing is set.
ForeignVariables translate_variables(const std::vector<std::pair<std::string, std::string>>& variables);

// The OLLAMA_* variables of this process.
std::vector<std::pair<std::string, std::string>> ollama_environment();

}  // namespace ft::cli
