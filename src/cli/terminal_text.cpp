#include "cli/terminal_text.h"

#include <fmt/format.h>

namespace ft::cli {

std::string terminal_text(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (c == '\r') continue;
        if (c1) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
        else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) out += fmt::format("\\x{:02x}", c);
        else out += text[i];
    }
    return out;
}

}  // namespace ft::cli
