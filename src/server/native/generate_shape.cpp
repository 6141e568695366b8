#include <utility>

#include "server/dialects.h"
#include "server/event_lines.h"
#include "server/openai_response.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// Whole: {"text", "finish_reason", "timings"}. Streamed: {"text": piece} events, the last with the rest.
// Thinking stands apart, in "thinking".
class GenerateShape : public AnswerShape {
 public:
    GenerateShape(const OpenAiCall& call, const ResponseHead& head, const Tokenizer& tokenizer)
        : head_(head),
          tokenizer_(tokenizer),
          logprobs_(!call.requests.empty() && call.requests[0].top_logprobs.has_value()) {}

    const char* content_type(bool stream) const override { return stream ? k_sse_type : k_json_type; }
    std::string begin() override { return ""; }

    std::string piece(const AnswerPiece& piece) override {
        Json event = {{piece.kind == AnswerPiece::Kind::thinking ? "thinking" : "text", piece.text}};
        add_logprobs(piece.logprobs, event);
        return sse(event);
    }

    std::string end(const ChoiceOutcome& outcome) override {
        outcome_ = outcome;
        return "";
    }

    std::string done(std::span<const RequestRecord> records) override {
        Json event = {{"text", ""}};
        add_end(outcome_, records, event);
        return sse(event).append(k_sse_done);
    }

    std::string error(const ApiError& error) override { return sse(to_json(error)).append(k_sse_done); }

    std::string whole(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes,
                      std::span<const RequestRecord> records) override {
        const GatheredChoice choice = gather(1, pieces, outcomes).front();
        Json body = {{"text", choice.text}};
        if (!choice.thinking.empty()) body["thinking"] = choice.thinking;
        add_logprobs(choice.logprobs, body);
        add_end(choice.outcome, records, body);
        return json_line(body);
    }

 private:
    void add_logprobs(std::span<const TokenLogprobs> logprobs, Json& to) const {
        if (logprobs_ && !logprobs.empty()) to["logprobs"] = chat_logprobs(logprobs, tokenizer_)["content"];
    }

    void add_end(const ChoiceOutcome& outcome, std::span<const RequestRecord> records, Json& to) const {
        to["finish_reason"] = outcome.reason == FinishReason::length ? "length" : "stop";
        if (!outcome.stop_text.empty()) to["stop_text"] = outcome.stop_text;
        to["model"] = head_.model;
        const RequestRecord record = merged(records);
        to["timings"] = timings_json(record);
        add_truncated(record, to);
    }

    ResponseHead head_;
    const Tokenizer& tokenizer_;
    bool logprobs_;
    ChoiceOutcome outcome_;
};

}  // namespace

std::unique_ptr<AnswerShape> generate_shape(const OpenAiCall& call, const ResponseHead& head,
                                            const Tokenizer& tokenizer) {
    return std::make_unique<GenerateShape>(call, head, tokenizer);
}

}  // namespace ft
