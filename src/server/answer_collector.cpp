#include "server/answer_collector.h"

namespace ft {

AnswerCollector::AnswerCollector(int n_choices, Thinking thinking)
    : split_(thinking != Thinking::part_of_text),
      filters_(static_cast<size_t>(n_choices), ThinkFilter(thinking == Thinking::split_opened)),
      choices_(static_cast<size_t>(n_choices)) {}

void AnswerCollector::add(size_t choice, const std::vector<Piece>& pieces) {
    ChoiceResult& result = choices_[choice];
    for (const Piece& piece : pieces) (piece.thinking ? result.thinking : result.text) += piece.text;
}

void AnswerCollector::add(size_t choice, std::string_view text) {
    if (split_) add(choice, filters_[choice].push(text));
    else choices_[choice].text += text;
}

void AnswerCollector::on_token(const TokenEvent& token) {
    const auto choice = static_cast<size_t>(token.choice);
    add(choice, token.text);
    if (token.logprobs) choices_[choice].logprobs.push_back(*token.logprobs);
}

void AnswerCollector::on_end(const ChoiceEnd& end) {
    const auto choice = static_cast<size_t>(end.choice);
    add(choice, end.text);
    if (split_) add(choice, filters_[choice].finish());
    choices_[choice].reason = end.reason;
    choices_[choice].stop_text = end.stop_text;
    if (end.error && !error_) error_ = *end.error;
}

void AnswerCollector::on_done(const RequestRecord& record) {
    record_ = record;
    done_ = true;
}

}  // namespace ft
