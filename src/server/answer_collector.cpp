#include "server/answer_collector.h"

#include <utility>

namespace ft {

// Pieces of a kind that follow each other are kept as one.
void AnswerCollector::add(std::vector<AnswerPiece> pieces) {
    for (AnswerPiece& piece : pieces) {
        const bool goes_on = !pieces_.empty() && pieces_.back().kind == piece.kind &&
                             pieces_.back().choice == piece.choice && pieces_.back().tool == piece.tool &&
                             piece.kind != AnswerPiece::Kind::tool_begin &&
                             piece.kind != AnswerPiece::Kind::tool_end;
        if (!goes_on) {
            pieces_.push_back(std::move(piece));
            continue;
        }
        AnswerPiece& last = pieces_.back();
        last.text += piece.text;
        last.tokens += piece.tokens;
        for (TokenLogprobs& logprobs : piece.logprobs) last.logprobs.push_back(std::move(logprobs));
    }
}

void AnswerCollector::on_token(const TokenEvent& token) {
    add(reader_->token(first_choice_ + static_cast<size_t>(token.choice), token.text, token.logprobs));
}

void AnswerCollector::on_end(const ChoiceEnd& end) {
    const size_t choice = first_choice_ + static_cast<size_t>(end.choice);
    add(reader_->finish(choice, end.text));
    outcomes_.push_back(reader_->outcome(choice, end.reason, end.stop_text));
    if (end.error && !error_) error_ = *end.error;
}

void AnswerCollector::on_done(const RequestRecord& record) {
    record_ = record;
    done_ = true;
}

}  // namespace ft
