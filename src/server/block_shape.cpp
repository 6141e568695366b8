#include "server/block_shape.h"

#include <utility>

#include "server/event_lines.h"

namespace ft {

const char* BlockShape::content_type(bool stream) const { return stream ? k_sse_type : k_json_type; }

std::string BlockShape::piece(const AnswerPiece& piece) {
    add(piece);
    return take_events();
}

std::string BlockShape::end(const ChoiceOutcome& outcome) {
    finish(outcome);
    return take_events();
}

void BlockShape::take_all(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes) {
    for (const AnswerPiece& piece : pieces) add(piece);
    for (const ChoiceOutcome& outcome : outcomes) finish(outcome);
}

std::string BlockShape::take_events() { return std::exchange(events_, ""); }

void BlockShape::add(const AnswerPiece& piece) {
    using Kind = AnswerPiece::Kind;
    switch (piece.kind) {
        case Kind::text:
            if (!piece.text.empty()) grow(Block::text, piece);
            return;
        case Kind::thinking:
            thinking_tokens_ += piece.tokens;
            return grow(Block::thinking, piece);
        case Kind::tool_begin:
            return open(Block::call, piece);
        case Kind::tool_arguments:
            text_ += piece.text;
            return tell_growth(piece.text);
        case Kind::tool_end:
            return close();
    }
}

void BlockShape::grow(Block kind, const AnswerPiece& piece) {
    if (open_ != kind) open(kind, piece);
    text_ += piece.text;
    tell_growth(piece.text);
}

void BlockShape::open(Block kind, const AnswerPiece& piece) {
    close();
    open_ = kind;
    begin_block(piece);
}

void BlockShape::close(bool cut) {
    if (open_ == Block::none) return;
    end_block(cut);
    blocks_.push_back(std::move(block_));
    open_ = Block::none;
    text_.clear();
}

void BlockShape::finish(const ChoiceOutcome& outcome) {
    outcome_ = outcome;
    close(outcome.reason == FinishReason::length);
    if (!blocks_.empty()) return;
    open(Block::text, {});  // an empty answer is a block too
    close();
}

}  // namespace ft
