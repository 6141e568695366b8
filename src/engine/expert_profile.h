// Which experts of a model were used, kept from run to run, so that the next one can read the hottest first.
// Speed alone depends on it: a profile that is missing, damaged or of another file is no profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gguf/gguf.h"

namespace ft {

// Identifies the model by path and size; a file in the user's cache folder.
class ExpertProfile {
 public:
    // n_layer mixtures of at most n_expert experts.
    ExpertProfile(const Gguf& file, size_t n_layer, size_t n_expert);

    // [n_layer * n_expert] uses, or empty.
    std::vector<uint32_t> read() const;
    // Older uses count half from now on. Does nothing where there is no cache folder or it cannot be written.
    void write(const std::vector<uint32_t>& uses) const;

    // (layer, expert), the most used first; those that were never used are left out.
    std::vector<std::pair<int, int>> hottest(const std::vector<uint32_t>& uses) const;

 private:
    size_t n_layer_, n_expert_;
    std::string path_;  // "": nowhere
};

}  // namespace ft
