// The tokenizer.json that a model's makers publish, in place of the vocabulary in its GGUF file: conversions
// have lost tokens and merges before.
#pragma once

#include <string>
#include <string_view>

#include "text/vocabulary.h"

namespace ft {

// Replaces tokens, kinds and merges of a byte-level BPE vocabulary by those of the JSON text; the
// pre-tokenizer and the special ids stay the file's. path: names it in errors: no JSON, another kind of
// tokenizer, ids that the model does not have, fewer tokens than it was trained with.
Status take_tokenizer_json(Vocabulary& vocabulary, std::string_view text, const std::string& path);

}  // namespace ft
