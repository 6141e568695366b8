#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace ft {

namespace {

// Length of the well-formed UTF-8 sequence at text[at], or 0.
size_t utf8_length(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned lead = byte(at);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xC2 ? 0
                          : lead < 0xE0 ? 2
                          : lead < 0xF0 ? 3
                          : lead < 0xF5 ? 4
                                        : 0;
    for (size_t i = 1; i < length; i++)
        if ((byte(at + i) & 0xC0) != 0x80) return 0;
    if ((lead == 0xE0 && byte(at + 1) < 0xA0) || (lead == 0xED && byte(at + 1) > 0x9F) ||
        (lead == 0xF0 && byte(at + 1) < 0x90) || (lead == 0xF4 && byte(at + 1) > 0x8F))
        return 0;
    return length;
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        if (out.size() >= most) {
            out += "…";
            break;
        }
        const auto c = static_cast<unsigned char>(text[at]);
        const size_t length = utf8_length(text, at);
        const bool c1_control = length == 2 && c == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
        if (length == 0 || c < 0x20 || c == 0x7F || c1_control) {
            out += fmt::format("\\x{:02x}", c);
            at += 1;
        } else {
            out += text.substr(at, length);
            at += length;
        }
    }
    return out;
}

std::string Error::sentence() const {
    std::string text = printable(what, 2000);
    if (!text.empty() && text.back() != '.') text += '.';
    if (!remedy.empty()) text += " " + printable(remedy, 2000);
    return text;
}

int exit_status(const Error& error) {
    switch (error.code) {
        case Code::negative:
            return 1;
        case Code::internal:
            return 70;
        default:
            return 2;
    }
}

void check_failed(std::string_view sentence, const std::source_location& at) {
    std::fprintf(stderr, "freetoken: this is a bug: %.*s (%s:%u). Please report it with the command.\n",
                 static_cast<int>(sentence.size()), sentence.data(), at.file_name(), at.line());
    std::fflush(stderr);
    std::_Exit(70);
}

}  // namespace ft
