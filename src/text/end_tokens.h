// Which tokens end an answer: a set, because files name one of several.
#pragma once

#include <cstdint>
#include <vector>

#include "text/vocabulary.h"

namespace ft {

// Ids in rising order: eos, eot and eom of the file, and every control or user-defined token whose text is a
// known end mark. An ordinary token of such a text (`</s>` in some vocabularies) is text.
std::vector<int32_t> end_tokens(const Vocabulary& vocabulary);

}  // namespace ft
