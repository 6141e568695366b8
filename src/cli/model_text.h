// What a model's file says of texts, and the settings with its advice: all that can refuse before the weights
// are read.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/model_flags.h"
#include "server/request_defaults.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace ft {
class Gguf;
}

namespace ft::cli {

struct ModelText {
    std::string name;   // general.name, else the file's
    Settings settings;  // with the file's advice
    std::unique_ptr<Tokenizer> tokenizer;
    std::optional<ChatTemplate> chat_template;
    RequestDefaults defaults;
};

enum class TemplateUse { none, needed, where_there_is_one };

Expected<ModelText> load_model_text(const ModelChoice& choice, TemplateUse use);

// general.sampling.* of the file, where the user chose nothing; advice outside a setting's range is left out
// with a warning.
void take_advice(Settings& settings, const Gguf& file);

}  // namespace ft::cli
