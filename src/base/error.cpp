#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace ft {

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
