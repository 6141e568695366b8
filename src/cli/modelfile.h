// Ollama's Modelfile: FROM, PARAMETER, SYSTEM and TEMPLATE become settings, weaker than what the user says
// elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"

namespace ft::cli {

struct Modelfile {
    std::vector<Sources::Preset> presets;
    std::vector<std::string> notes;  // what has no meaning here, a sentence each
};

// path: names the file in errors; a FROM that is the path of a file is relative to its folder, another is
// a name of `freetoken list`, which is not looked up here. A TEMPLATE is
// model.template_text, which is read when a template is needed. Errors name the line: an instruction or
// parameter that is not known, an ADAPTER.
Expected<Modelfile> parse_modelfile(std::string_view text, const std::string& path);

Expected<Modelfile> read_modelfile(const std::string& path);

}  // namespace ft::cli
