#include <algorithm>

#include "grammar/compiled.h"
#include "grammar/grammar.h"
#include "text/prompt.h"

namespace ft {

namespace {

constexpr std::string_view k_end_of_thinking = "</think>", k_thinking_blanks = " \t\r\n";
constexpr size_t k_most_state_frames = 4096;

void set_token(std::vector<uint64_t>& bits, int32_t id, bool allowed) {
    const auto at = static_cast<size_t>(id);  // -1, of no token, is beyond all
    if (at / 64 >= bits.size()) return;
    const uint64_t bit = uint64_t{1} << (at % 64);
    if (allowed) bits[at / 64] |= bit;
    else bits[at / 64] &= ~bit;
}

}  // namespace

GrammarStart start_of_grammar(const Prompt& prompt) {
    if (prompt.inside_thinking) return GrammarStart::after_thinking;
    return prompt.thinking_is_over ? GrammarStart::at_once : GrammarStart::may_think_first;
}

GrammarState::GrammarState(SharedGrammar grammar, GrammarStart start)
    : grammar_(std::move(grammar)),
      stage_(Stage::text),
      at_beginning_(start != GrammarStart::after_thinking),
      stepper_(grammar_->compiled_->machine) {
    const grammar::Compiled& of = *grammar_->compiled_;
    if (start == GrammarStart::after_thinking) stage_ = Stage::thinking;
    if (start == GrammarStart::may_think_first && of.opens_thinking >= 0) stage_ = Stage::before_thinking;
    allowed_.resize(of.tokenizer.trie().words());
    const Status begun = stepper_.start(stacks_, configs_);
    check(static_cast<bool>(begun), "a grammar that cannot begin");  // it has, when it was compiled
}

Expected<std::span<const uint64_t>> GrammarState::allowed() {
    const grammar::Compiled& of = *grammar_->compiled_;
    if (stage_ == Stage::thinking) {
        std::ranges::fill(allowed_, ~uint64_t{0});
        for (const int32_t id : of.tokenizer.end_ids()) set_token(allowed_, id, false);
        return std::span<const uint64_t>(allowed_);
    }
    const bool passes_blank = at_beginning_ && of.tokenizer.strips_leading_blank();
    const Status found = of.automaton.allowed(
        configs_, stacks_, passes_blank ? grammar::Blank::passed_over : grammar::Blank::read, allowed_);
    if (!found) return found.error().within("grammar");
    if (stage_ == Stage::before_thinking) set_token(allowed_, of.opens_thinking, true);
    if (stage_ == Stage::after_thinking)
        for (const int32_t id : of.newlines) set_token(allowed_, id, true);
    if (std::ranges::all_of(allowed_, [](uint64_t word) { return word == 0; }))
        return Error{Code::invalid, "grammar: no token of this vocabulary goes on with what it allows here",
                     "Allow other characters in this place."};
    return std::span<const uint64_t>(allowed_);
}

Status GrammarState::accept(int32_t id) {
    const grammar::Compiled& of = *grammar_->compiled_;
    if (stage_ == Stage::thinking) return accept_thinking(id);
    if (stage_ == Stage::before_thinking && id == of.opens_thinking) {
        stage_ = Stage::thinking;
        at_beginning_ = false;
        return {};
    }
    if (stage_ == Stage::after_thinking && std::ranges::find(of.newlines, id) != of.newlines.end()) {
        stage_ = Stage::text;
        return {};
    }
    stage_ = Stage::text;
    if (of.tokenizer.is_end(id)) {
        if (may_end()) return {};
        return Error{Code::invalid, "grammar: the answer ended before its text was complete", ""};
    }
    bytes_.clear();
    of.tokenizer.append_bytes(id, false, bytes_);
    std::string_view bytes = bytes_;
    if (at_beginning_ && of.tokenizer.strips_leading_blank() && bytes.starts_with(' '))
        bytes.remove_prefix(1);
    if (!bytes_.empty()) at_beginning_ = false;
    return read(bytes);
}

// Nothing is asked of thinking but that it ends.
Status GrammarState::accept_thinking(int32_t id) {
    grammar_->compiled_->tokenizer.append_bytes(id, true, tail_);
    const size_t end = tail_.find(k_end_of_thinking);
    if (end == std::string::npos) {
        tail_.erase(0, tail_.size() - std::min(tail_.size(), k_end_of_thinking.size() - 1));
        return {};
    }
    stage_ = Stage::after_thinking;
    const std::string rest = tail_.substr(end + k_end_of_thinking.size());
    const size_t text = rest.find_first_not_of(k_thinking_blanks);
    tail_.clear();
    if (rest.empty()) return {};
    stage_ = Stage::text;
    return text == std::string::npos ? Status() : read(std::string_view(rest).substr(text));
}

Status GrammarState::read(std::string_view bytes) {
    for (const char byte : bytes) {
        if (Status stepped = stepper_.step(configs_, static_cast<uint8_t>(byte), stacks_, next_); !stepped)
            return stepped.error().within("grammar");
        std::swap(configs_, next_);
    }
    if (stacks_.size() > k_most_state_frames) forget_stacks();
    if (!configs_.empty()) return {};
    return Error{Code::invalid, "grammar: it does not allow what came", ""};
}

// Keeps the stacks that are in use.
void GrammarState::forget_stacks() {
    const grammar::Stacks before = std::exchange(stacks_, {});
    std::vector<grammar::Stacks::Frame> frames;
    for (grammar::Config& config : configs_) {
        frames.clear();
        for (int32_t at = config.stack; at != grammar::Stacks::k_empty; at = before.top(at).below)
            frames.push_back(before.top(at));
        config.stack = grammar::Stacks::k_empty;
        for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
            config.stack = stacks_.push(config.stack, frame->node, frame->rounds);
    }
    std::ranges::sort(configs_);
}

bool GrammarState::may_end() const {
    return (stage_ == Stage::text || stage_ == Stage::after_thinking || stage_ == Stage::before_thinking) &&
           grammar::may_end(configs_);
}

bool GrammarState::must_end() const { return stage_ == Stage::text && may_end() && configs_.size() == 1; }

}  // namespace ft
