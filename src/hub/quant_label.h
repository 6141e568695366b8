// How a file is quantised, by its name: publishers write it there, and users ask for it that way.
#pragma once

#include <string>
#include <string_view>

namespace ft {

// "Q4_K_M" of "model-q4_k_m.gguf", "UD-Q4_K_XL" of "UD-Q4_K_XL/Model-UD-Q4_K_XL-00001-of-00003.gguf"; ""
// where the name says nothing. Of several the last counts.
std::string quant_label(std::string_view name);

// As the user wrote it, in the same form: "q4_k_m" and "Q4-K-M" are "Q4_K_M". Anything else comes back in
// capitals.
std::string normal_label(std::string_view word);

// Bits of a weight as the label says them: 4 of "IQ4_XS"; 0 where it says none.
int label_bits(std::string_view label);

}  // namespace ft
