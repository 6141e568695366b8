// Words that users of other programs type by habit: flags of llama.cpp's programs and of vLLM, variables of
// Ollama. Each is understood, or answered with our name for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace ft::cli {

// A flag that the command itself has: "--ctx", "-p".
struct OwnFlag {
    std::string name;
    bool takes_value = false;
};

struct Translated {
    std::vector<std::string> words;  // with our flags in place of others'
    std::vector<std::string> notes;  // a sentence for each that has another meaning here, or none
    std::vector<std::pair<std::string, std::string>> renamed;  // our flag, and the one that was typed
};
// What the command has itself keeps its meaning, and so does a value. A foreign flag becomes a flag that the
// command has; where it has none of that meaning the word is left for the parser to refuse. What becomes a
// setting, or nothing, is understood by commands that load a model: by those that have --ctx.
Translated translate_flags(const std::vector<std::string>& words, const std::vector<OwnFlag>& own);

// The long names of others that such a command understands, for whoever misspells one.
std::vector<std::string> foreign_flag_names(const std::vector<OwnFlag>& own);

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
