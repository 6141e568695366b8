// Gathers the answer to a request as pieces, for a client that gets it whole.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/request.h"
#include "server/endpoint_call.h"

namespace ft {

class AnswerCollector : public RequestOwner {
 public:
    // reader: of the whole call, shared by its requests' collectors, all on one thread. first_choice: how
    // many choices the requests before this one have.
    AnswerCollector(std::shared_ptr<AnswerReader> reader, size_t first_choice)
        : reader_(std::move(reader)), first_choice_(first_choice) {}

    void on_token(const TokenEvent& token) override;
    void on_end(const ChoiceEnd& end) override;
    void on_done(const RequestRecord& record) override;

    // Once done() is true:
    bool done() const { return done_; }
    const std::vector<AnswerPiece>& pieces() const { return pieces_; }
    const std::vector<ChoiceOutcome>& outcomes() const { return outcomes_; }
    const RequestRecord& record() const { return record_; }
    const std::optional<Error>& error() const { return error_; }  // of the first choice that failed

 private:
    void add(std::vector<AnswerPiece> pieces);

    std::shared_ptr<AnswerReader> reader_;
    size_t first_choice_;
    std::vector<AnswerPiece> pieces_;
    std::vector<ChoiceOutcome> outcomes_;
    RequestRecord record_;
    std::optional<Error> error_;
    bool done_ = false;
};

}  // namespace ft
