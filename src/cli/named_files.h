// The files that a command line names: no output may be a file that the command reads, or another output.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/model_flags.h"
#include "gguf/gguf.h"

namespace ft::cli {

struct NamedFile {
    std::string role;  // "-o", "--ids", "the model"
    std::string path;  // "": not given
};

// Settings, template and every part of the model.
std::vector<NamedFile> files_of(const ModelChoice& choice, const Gguf& model);

// An error that names both roles where two outputs, or an output and an input, are one file.
Status check_outputs(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs);

}  // namespace ft::cli
