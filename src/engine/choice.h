// One answer that is being written: a request has n_choices of them. Owner: the engine's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "engine/parking.h"
#include "engine/request.h"
#include "engine/sequence_store.h"
#include "text/answer_text.h"

namespace ft {

// A request, and what its choices share.
struct Ticket {
    uint64_t id = 0;
    Request request;
    std::shared_ptr<RequestOwner> owner;
    int64_t most = 0;  // tokens of a choice: max_tokens, cut to what the context has room for
    RequestRecord record;
    Seconds submitted = 0, started = 0, first_token = 0;  // 0: not yet
    int open = 0;                                         // choices that have not ended
    int unstarted = 0;                   // choices after the first, which wait until it has read the prompt
    bool queued = false;                 // they are in the queue
    std::optional<PrefixTree::Pin> pin;  // the prompt, for them
};

struct Choice {
    Choice(std::shared_ptr<Ticket> of, int number, const Tokenizer& tokenizer);

    const Request& request() const { return ticket->request; }
    Lane lane() const { return ticket->request.lane; }
    int64_t n_prompt() const { return static_cast<int64_t>(ticket->request.prompt.size()); }
    int64_t pending() const { return static_cast<int64_t>(ids.size()) - sequence->n_past; }
    std::span<const int32_t> fed() const {
        return std::span(ids).first(static_cast<size_t>(sequence->n_past));
    }

    std::shared_ptr<Ticket> ticket;
    int index;
    std::vector<int32_t> ids;    // the prompt, and what was drawn
    int64_t drawn = 0;           // tokens, an end token too
    Expected<int32_t> next = 0;  // the one just drawn
    Sampler sampler;
    AnswerText text;
    std::optional<GrammarState> grammar;  // nothing: the request has none
    TokenLogprobs logprobs;
    std::vector<double> hidden;                         // embed: the sum over the positions that were fed
    std::vector<int64_t> borders;                       // where state is kept, rising; recurrent layers only
    std::unique_ptr<SequenceStore::Sequence> sequence;  // nothing: it waits
    std::optional<Parking::Place> parked;  // where it lies meanwhile, with its first n_parked ids
    int64_t n_parked = 0;
    bool started = false;  // once; it may have been parked since
    bool ended = false;
};

}  // namespace ft
