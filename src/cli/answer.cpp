#include "cli/answer.h"

#include <xxhash.h>

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace ft::cli {

namespace {

bool stopped(const AnswerRequest& request) {
    return request.stop && request.stop->load(std::memory_order_relaxed);
}

// Pass by pass where somebody watches; the logits do not depend on it.
Status feed_prompt(Sequence& sequence, const AnswerRequest& request, std::span<const int32_t> ids) {
    const size_t block = request.on_prompt ? static_cast<size_t>(sequence.step_tokens()) : ids.size();
    for (size_t at = 0; at < ids.size(); at += block) {
        const auto some = ids.subspan(at, std::min(block, ids.size() - at));
        if (Status fed = sequence.feed(some, request.stop); !fed) return fed;
        if (request.on_prompt) request.on_prompt(at + some.size(), ids.size());
    }
    return {};
}

Expected<int32_t> draw_token(const Sequence& sequence, Sampler& sampler,
                             std::optional<GrammarState>& grammar) {
    std::span<const uint64_t> allowed;
    if (grammar) {
        const Expected<std::span<const uint64_t>> tokens = grammar->allowed();
        if (!tokens) return tokens.error();
        allowed = *tokens;
    }
    return sampler.sample(sequence.logits(), static_cast<uint64_t>(sequence.n_past()), 0, allowed);
}

// Draws and feeds tokens after the prompt; sets all but the prompt's timings.
Status continue_answer(Sequence& sequence, const AnswerRequest& request, FunctionRef<bool(int32_t)> is_end,
                       FunctionRef<bool(int32_t)> emit, Sampler& sampler, Seconds start, Answer& answer) {
    const int64_t left = request.n_ctx - static_cast<int64_t>(request.prompt.size());
    const int64_t room = request.endless ? std::max(left, request.max_tokens) : left;
    const int64_t most = request.max_tokens > 0 ? std::min(request.max_tokens, room) : room;
    answer.ids.reserve(static_cast<size_t>(std::min<int64_t>(most, 4096)));
    std::optional<GrammarState> grammar;
    if (request.grammar) grammar.emplace(request.grammar, request.grammar_start);
    for (;;) {
        answer.end = AnswerEnd::interrupted;
        if (stopped(request)) return {};
        const Expected<int32_t> drawn = draw_token(sequence, sampler, grammar);
        if (!drawn) return drawn.error().within(request.model);
        const int32_t id = *drawn;
        if (answer.timings.predicted_n++ == 0) answer.timings.ttft_ms = (now_seconds() - start) * 1e3;
        answer.end = AnswerEnd::end_token;
        if (is_end(id)) return {};
        if (grammar)
            if (Status accepted = grammar->accept(id); !accepted) return accepted;
        sampler.accept(id);
        answer.ids.push_back(id);
        answer.end = AnswerEnd::unheard;
        if (!emit(id)) return {};
        answer.end = AnswerEnd::end_token;
        if (grammar && grammar->must_end()) return {};
        answer.end =
            most < room || request.max_tokens == room ? AnswerEnd::max_tokens : AnswerEnd::context_full;
        if (answer.timings.predicted_n >= most) return {};
        if (Status fed = sequence.feed({&id, 1}, request.stop); !fed) {
            answer.end = AnswerEnd::interrupted;
            return stopped(request) ? Status() : fed;
        }
    }
}

}  // namespace

const char* finish_reason(AnswerEnd end) {
    switch (end) {
        case AnswerEnd::end_token:
        case AnswerEnd::stop_text:
            return "stop";
        case AnswerEnd::max_tokens:
        case AnswerEnd::context_full:
            return "length";
        case AnswerEnd::interrupted:
        case AnswerEnd::unheard:
            return "interrupted";
    }
    return "";
}

Status check_room(int64_t n_prompt, int64_t n_ctx) {
    if (n_prompt == 0) return Error{Code::invalid, "the prompt is empty", "Give a text to answer."};
    if (n_prompt < n_ctx) return {};
    return Error{Code::too_large,
                 fmt::format("the prompt has {} tokens, but the context has room for {}, answer included",
                             n_prompt, n_ctx),
                 "Shorten it, or choose a longer context with --ctx where the model has one."};
}

Expected<Answer> generate(Sequence& sequence, const AnswerRequest& request, FunctionRef<bool(int32_t)> is_end,
                          FunctionRef<bool(int32_t)> emit) {
    if (Status room = check_room(static_cast<int64_t>(request.prompt.size()), request.n_ctx); !room)
        return room.error();
    Answer answer;
    Sampler sampler(request.sampling);
    for (const int32_t id : request.prompt) sampler.accept(id);
    const auto fresh = request.prompt.subspan(static_cast<size_t>(sequence.n_past()));
    const Seconds start = now_seconds();
    if (Status fed = feed_prompt(sequence, request, fresh); !fed) {
        if (!stopped(request)) return fed.error();
        answer.end = AnswerEnd::interrupted;
        return answer;
    }
    const Seconds prompt_done = now_seconds();
    answer.timings.prompt_n = static_cast<int64_t>(fresh.size());
    answer.timings.prompt_ms = (prompt_done - start) * 1e3;
    const Status continued = continue_answer(sequence, request, is_end, emit, sampler, start, answer);
    if (!continued) return continued.error();
    answer.timings.predicted_ms = (now_seconds() - prompt_done) * 1e3;
    answer.logits_hash = XXH3_64bits(sequence.logits().data(), sequence.logits().size_bytes());
    return answer;
}

}  // namespace ft::cli
