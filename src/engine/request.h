// What is asked of a model, what is told while it answers, and what is known when it has. Plain data: the
// command line, `batch` and the server fill it in, the scheduler reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/grammar.h"
#include "sample/logprobs.h"
#include "sample/sampler.h"

namespace ft {

// Which slots a request may take: people who wait, or work that only has to be done by the morning.
enum class Lane : uint8_t { interactive, batch };

enum class FinishReason : uint8_t {
    stop,       // the model ended the answer, or a stop text came
    length,     // max_tokens, or the context is full
    cancelled,  // its owner wants no more
    error,      // it could not be computed: an expert that cannot be read, say
};

struct Request {
    std::vector<int32_t> prompt;  // not empty; the ids as they are fed, BOS included
    // Its seed is that of all choices: a draw depends on (seed, choice, position). So choice 0 of several is
    // what one alone would be.
    SamplerParams sampling;
    std::optional<int64_t> max_tokens;  // of each choice, at least 1; nothing: what the context has room for
    // Texts that end a choice and are not part of it. None is empty.
    std::vector<std::string> stop;
    // Tokens that end a choice and are not part of it: the model's own, and what the caller adds. Whoever
    // wants the model's own never to end the answer (ignore_eos) calls ignore_end().
    std::vector<int32_t> end_ids;
    Lane lane = Lane::interactive;
    int n_choices = 1;   // answers to the one prompt
    bool embed = false;  // what the prompt means is asked for, and no answer: see RequestOwner::on_embedding
    // What each choice's text must be like; nullptr: anything. A choice ends when nothing may follow, and as
    // an error where no token may come.
    SharedGrammar grammar = nullptr;
    GrammarStart grammar_start = GrammarStart::at_once;
    int64_t dropped_tokens = 0;       // of a chat's oldest turns, which its prompt was too long with
    std::optional<int> top_logprobs;  // nothing: no logprobs; N: of each token, and of the N likeliest ones

    // The tokens of end_ids are never drawn, so that only max_tokens, the context or a stop text ends the
    // answer.
    void ignore_end();
};

// What one request cost and gave, its choices together. Times are wall time; they follow each other and add
// up: queue, then prefill until the first token is drawn, then decode until the last choice ended.
struct RequestRecord {
    double queue_ms = 0;    // from submission to the first step it was part of
    double prefill_ms = 0;  // to its first token
    double decode_ms = 0;   // to its end
    double ttft_ms = 0;     // from submission to the first token; 0 where none came
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;     // of these, not read again: a shared beginning
    int64_t generated_tokens = 0;  // of all choices, end tokens included
    uint64_t expert_hits = 0;      // uses of experts that were in RAM
    uint64_t expert_misses = 0;    // uses that waited for the drive
    uint64_t expert_bytes = 0;     // read from the drive for them
    double expert_wait_ms = 0;     // in which its steps could not compute for want of them
    double expert_worst_ms = 0;    // the longest such time of one step
    int parked = 0;                // how often it gave up its pages and came back
    int64_t dropped_tokens = 0;    // those of the request
    int64_t forgotten_tokens = 0;  // the oldest, which the end no longer saw: beyond the context (auto_evict)
    FinishReason finish = FinishReason::stop;  // of the choice that ended last

    // Generated within decode_ms: the first token came at its beginning.
    int64_t decoded_tokens() const { return generated_tokens > 0 ? generated_tokens - 1 : 0; }
};

// A token of a running choice.
struct TokenEvent {
    int choice = 0;
    int32_t id = 0;
    std::string_view text = {};               // whole characters; what may begin a stop text waits
    const TokenLogprobs* logprobs = nullptr;  // where they were asked for
    int64_t cached_tokens = 0;                // of the prompt: RequestRecord's
};

// The end of a choice.
struct ChoiceEnd {
    int choice = 0;
    FinishReason reason = FinishReason::stop;
    std::string_view text = {};       // what still waited
    std::string_view stop_text = {};  // the stop text that ended it; "" where none did
    const Error* error = nullptr;     // reason error: why
};

// Whom a request tells. Called on the engine's thread, which must not be kept waiting; what the events refer
// to is gone when the call returns. Each choice has its tokens in order and then one end; on_done comes once,
// last.
class RequestOwner {
 public:
    virtual ~RequestOwner() = default;
    virtual void on_token(const TokenEvent& token) = 0;
    // For a request with `embed`, in place of tokens: the mean over the prompt's positions of the hidden
    // states after the last layer and its norm [n_embd], added up in the order of positions.
    virtual void on_embedding(std::span<const float>) {}
    virtual void on_end(const ChoiceEnd& end) = 0;
    virtual void on_done(const RequestRecord& record) = 0;
};

}  // namespace ft
