#include "engine/choice.h"

#include <algorithm>

namespace ft {

namespace {

constexpr int64_t k_most_reserved = 1 << 20;  // ids of an answer that may go on beyond the context

}  // namespace

Choice::Choice(std::shared_ptr<Ticket> of, int number, const Tokenizer& tokenizer)
    : ticket(std::move(of)),
      index(number),
      ids(ticket->request.prompt),
      sampler(ticket->request.sampling),
      text(tokenizer, false, ticket->request.stop) {
    ids.reserve(ids.size() + static_cast<size_t>(std::min(ticket->most, k_most_reserved)) + 1);
    for (const int32_t id : ids) sampler.accept(id);
    if (ticket->request.grammar) grammar.emplace(ticket->request.grammar, ticket->request.grammar_start);
}

}  // namespace ft
