// One answer: the prompt is fed, then tokens are drawn and fed until something ends it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "cli/timings.h"
#include "grammar/grammar.h"
#include "sample/sampler.h"

namespace ft::cli {

// What an answer needs of a sequence: LiveSequence over the engine, or a stand-in in tests.
class Sequence {
 public:
    virtual ~Sequence() = default;
    virtual Status feed(std::span<const int32_t> ids, const std::atomic<bool>* stop) = 0;
    virtual std::span<const float> logits() const = 0;
    virtual int64_t n_past() const = 0;
    virtual int64_t step_tokens() const = 0;  // ids of one pass: shorter feeds cost whole passes
};

enum class AnswerEnd {
    end_token,     // the model was done, or the grammar
    stop_text,     // the text came to one of those that end it
    max_tokens,    // as many as were asked for
    context_full,  // prompt and answer fill the context
    interrupted,   // `stop` became true
    unheard,       // emit() said that nobody reads any more
};
const char* finish_reason(AnswerEnd end);  // "stop", "length", "interrupted"

struct AnswerRequest {
    std::span<const int32_t>
        prompt;  // the whole sequence; its first n_past() ids are in the sequence already
    SamplerParams sampling;
    int64_t max_tokens = 0;  // 0: what the context has room for
    int64_t n_ctx = 0;
    bool endless = false;  // max_tokens may go beyond the context, which forgets its oldest tokens
    const std::atomic<bool>* stop = nullptr;
    std::function<void(uint64_t done, uint64_t total)> on_prompt = {};  // tokens fed so far; may be empty
    SharedGrammar grammar = nullptr;  // what the text must be like; nullptr: anything
    GrammarStart grammar_start = GrammarStart::at_once;
    std::string_view model = "the model";  // begins the sentence of an error
};

struct Answer {
    std::vector<int32_t> ids;  // without the end token
    AnswerEnd end = AnswerEnd::end_token;
    Timings timings;           // load_ms and bytes_per_token are the caller's to fill in
    uint64_t logits_hash = 0;  // of the last logits
};

// An error where a prompt of n tokens is empty or leaves no room for an answer.
Status check_room(int64_t n_prompt, int64_t n_ctx);

// emit is told each id as it is drawn and returns false to end the answer. An error: the prompt leaves no
// room for an answer (nothing is fed then), feeding failed, or the logits are not finite.
Expected<Answer> generate(Sequence& sequence, const AnswerRequest& request, FunctionRef<bool(int32_t)> is_end,
                          FunctionRef<bool(int32_t)> emit);

}  // namespace ft::cli
