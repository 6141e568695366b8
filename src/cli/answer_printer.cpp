#include "cli/answer_printer.h"

#include "base/printable.h"

namespace ft::cli {

bool AnswerPrinter::push(std::string_view text) {
    if (!style_.split) return show({false, std::string(text)});
    bool read = true;
    for (const Piece& piece : filter_.push(text)) read = read && show(piece);
    return read;
}

bool AnswerPrinter::finish() {
    bool read = true;
    for (const Piece& piece : filter_.finish()) read = read && show(piece);
    if (!read || !set_dim(false)) return false;
    const bool line_is_open = text_.empty() ? thinking_shown_ : text_.back() != '\n';
    return !style_.stream || !style_.end_line || !line_is_open || write_("\n");
}

bool AnswerPrinter::show(const Piece& piece) {
    (piece.thinking ? thinking_ : text_) += piece.text;
    if (!style_.stream || piece.text.empty() || (piece.thinking && !style_.show_thinking)) return true;
    std::string shown = style_.terminal ? printable_lines(piece.text) : piece.text;
    if (!piece.thinking && thinking_shown_ && text_.size() == piece.text.size()) shown.insert(0, "\n\n");
    thinking_shown_ = thinking_shown_ || piece.thinking;
    return set_dim(piece.thinking) && write_(shown);
}

bool AnswerPrinter::set_dim(bool dim) {
    if (dim == dim_ || !style_.dim || !style_.stream) return true;
    dim_ = dim;
    return write_(dim ? "\x1b[2m" : "\x1b[0m");
}

}  // namespace ft::cli
