// Gathers the answer to a request, for a client that gets it whole.
#pragma once

#include <string>
#include <vector>

#include "engine/request.h"
#include "text/think_filter.h"

namespace ft {

struct ChoiceResult {
    std::string text;
    std::string thinking;  // chat: what stood in <think> … </think>
    FinishReason reason = FinishReason::stop;
    std::string stop_text;                // that ended it; "" where none did
    std::vector<TokenLogprobs> logprobs;  // of each token, where they were asked for
};

// How the text of an answer is read.
enum class Thinking {
    part_of_text,  // completions: all of it is the text
    split,         // chat
    split_opened,  // chat, and the template has opened <think> for the model
};

class AnswerCollector : public RequestOwner {
 public:
    AnswerCollector(int n_choices, Thinking thinking);

    void on_token(const TokenEvent& token) override;
    void on_end(const ChoiceEnd& end) override;
    void on_done(const RequestRecord& record) override;

    // Once done() is true:
    bool done() const { return done_; }
    const std::vector<ChoiceResult>& choices() const { return choices_; }
    const RequestRecord& record() const { return record_; }
    const std::optional<Error>& error() const { return error_; }  // of the first choice that failed

 private:
    void add(size_t choice, std::string_view text);
    void add(size_t choice, const std::vector<Piece>& pieces);

    bool split_;
    std::vector<ThinkFilter> filters_;
    std::vector<ChoiceResult> choices_;
    RequestRecord record_;
    std::optional<Error> error_;
    bool done_ = false;
};

}  // namespace ft
