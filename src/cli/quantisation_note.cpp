#include "cli/quantisation_note.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "hub/quant_label.h"

namespace ft::cli {

std::string low_quantisation_note(const std::string& quantisation) {
    const int bits = label_bits(normal_label(quantisation));
    if (bits <= 0 || bits >= 4) return "";
    return fmt::format(
        "{} has less than 4 bits for a weight: answers get worse, code first. Q4_K_M or IQ4_XS is the floor "
        "for daily use.",
        printable(quantisation));
}

}  // namespace ft::cli
