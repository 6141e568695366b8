#include <utility>

#include "server/endpoint_call.h"
#include "server/tools/tool_call_filter.h"
#include "server/tools/tool_rules.h"
#include "text/think_filter.h"

namespace ft {

struct AnswerReader::Choice {
    std::optional<ThinkFilter> thinking;  // nothing: all of the text is text
    std::shared_ptr<const ToolRules> rules;
    std::optional<ToolCallFilter> tools;
    std::vector<TokenLogprobs> logprobs;  // of tokens that have not shown yet
    int64_t tokens = 0;                   // likewise
};

AnswerReader::AnswerReader(const OpenAiCall& call) {
    for (const Request& request : call.requests)
        for (int i = 0; i < request.n_choices; i++) {
            Choice choice;
            if (call.split_thinking) choice.thinking.emplace(call.inside_thinking);
            choice.rules = call.tools;
            if (call.tools) choice.tools.emplace(*choice.rules, choices_.size());
            choices_.push_back(std::move(choice));
        }
}

AnswerReader::~AnswerReader() = default;
AnswerReader::AnswerReader(AnswerReader&&) noexcept = default;
AnswerReader& AnswerReader::operator=(AnswerReader&&) noexcept = default;

std::vector<AnswerPiece> AnswerReader::pieces(size_t index, std::string_view text, bool at_end) {
    Choice& choice = choices_[index];
    std::vector<Piece> parts;
    if (!choice.thinking) parts.push_back({false, std::string(text)});
    else parts = choice.thinking->push(text);
    if (choice.thinking && at_end)
        for (Piece& part : choice.thinking->finish()) parts.push_back(std::move(part));
    std::vector<AnswerPiece> out;
    for (Piece& part : parts) {
        if (part.text.empty()) continue;
        const auto kind = part.thinking ? AnswerPiece::Kind::thinking : AnswerPiece::Kind::text;
        if (!part.thinking && choice.tools) choice.tools->push(part.text, false, out);
        else out.push_back({.choice = index, .kind = kind, .text = std::move(part.text)});
    }
    if (at_end && choice.tools) choice.tools->push("", true, out);
    if (out.empty() && at_end && !choice.logprobs.empty()) out.push_back({.choice = index});
    if (!out.empty()) {
        out.front().logprobs = std::exchange(choice.logprobs, {});
        out.front().tokens = std::exchange(choice.tokens, 0);
    }
    return out;
}

std::vector<AnswerPiece> AnswerReader::token(size_t choice, std::string_view text,
                                             const TokenLogprobs* logprobs) {
    if (logprobs) choices_[choice].logprobs.push_back(*logprobs);
    choices_[choice].tokens++;
    return pieces(choice, text, false);
}

std::vector<AnswerPiece> AnswerReader::finish(size_t choice, std::string_view text) {
    return pieces(choice, text, true);
}

ChoiceOutcome AnswerReader::outcome(size_t choice, FinishReason reason, std::string_view stop_text) const {
    const Choice& of = choices_[choice];
    return {choice, reason, of.tools && of.tools->called(), std::string(stop_text)};
}

}  // namespace ft
