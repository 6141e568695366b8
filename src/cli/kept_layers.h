// model.quant and model.keep_fp16_layers against the file: what a user expects of it, and what it is.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace ft {
class Gguf;
}

namespace ft::cli {

// Refuses a layer that has no such name.
Status check_kept_layers(const Settings& settings);

struct FileNote {
    bool loud = false;  // answers suffer
    std::string text;
};
// A sentence for each expectation that the file does not meet.
std::vector<FileNote> file_notes(const Settings& settings, const Gguf& file, const std::string& path);

}  // namespace ft::cli
