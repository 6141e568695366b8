#include <cmath>
#include <utility>

#include "server/dialects.h"
#include "server/event_lines.h"
#include "server/openai_response.h"
#include "server/utc_time.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

int64_t nanoseconds(double ms) { return std::llround(ms * 1e6); }

// Lines of JSON. A call of a function is told as a whole, once it is complete: arguments are an object there.
class OllamaShape : public AnswerShape {
 public:
    OllamaShape(bool chat, const OpenAiCall& call, const ResponseHead& head, const Tokenizer& tokenizer)
        : chat_(chat),
          loads_only_(call.requests.empty()),
          logprobs_(!loads_only_ && call.requests[0].top_logprobs.has_value()),
          head_(head),
          created_at_(utc_time(head.created)),
          tokenizer_(tokenizer) {}

    const char* content_type(bool stream) const override { return stream ? k_ndjson_type : k_json_type; }
    std::string begin() override { return ""; }

    std::string piece(const AnswerPiece& piece) override {
        switch (piece.kind) {
            case AnswerPiece::Kind::text:
                return line(said(piece.text, "", Json()), piece.logprobs);
            case AnswerPiece::Kind::thinking:
                return line(said("", piece.text, Json()), piece.logprobs);
            case AnswerPiece::Kind::tool_begin:
                call_ = {piece.tool_id, piece.text, ""};
                break;
            case AnswerPiece::Kind::tool_arguments:
                call_.arguments += piece.text;
                break;
            case AnswerPiece::Kind::tool_end:
                return line(said("", "", Json::array({call_json(call_)})), piece.logprobs);
        }
        return "";
    }

    std::string end(const ChoiceOutcome& outcome) override {
        outcome_ = outcome;
        return "";
    }

    std::string done(std::span<const RequestRecord> records) override {
        Json last = line_json(said("", "", Json()));
        add_end(outcome_, records, last);
        return json_line(last) + "\n";
    }

    std::string error(const ApiError& error) override { return json_line({{"error", error.message}}) + "\n"; }

    std::string whole(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes,
                      std::span<const RequestRecord> records) override {
        const GatheredChoice choice = gather(1, pieces, outcomes).front();
        Json calls;
        for (const GatheredCall& call : choice.calls) calls.push_back(call_json(call));
        Json body = line_json(said(choice.text, choice.thinking, std::move(calls)));
        add_logprobs(choice.logprobs, body);
        add_end(choice.outcome, records, body);
        return json_line(body);
    }

 private:
    static Json call_json(const GatheredCall& call) {
        return {{"id", call.id},
                {"function", {{"name", call.name}, {"arguments", parsed_arguments(call.arguments)}}}};
    }

    // What the model said, as members of a line.
    Json said(const std::string& text, const std::string& thinking, Json calls) const {
        Json words = chat_ ? Json{{"role", "assistant"}, {"content", text}} : Json{{"response", text}};
        if (!thinking.empty()) words["thinking"] = thinking;
        if (!calls.is_null()) words["tool_calls"] = std::move(calls);
        return words;
    }

    Json line_json(Json words) const {
        Json line = {{"model", head_.model}, {"created_at", created_at_}};
        if (chat_) line["message"] = std::move(words);
        else line.update(words);
        line["done"] = false;
        return line;
    }

    std::string line(Json words, std::span<const TokenLogprobs> logprobs) const {
        Json line = line_json(std::move(words));
        add_logprobs(logprobs, line);
        return json_line(line) + "\n";
    }

    void add_logprobs(std::span<const TokenLogprobs> logprobs, Json& to) const {
        if (logprobs_ && !logprobs.empty()) to["logprobs"] = chat_logprobs(logprobs, tokenizer_)["content"];
    }

    void add_end(const ChoiceOutcome& outcome, std::span<const RequestRecord> records, Json& to) const {
        const RequestRecord record = merged(records);
        to["done"] = true;
        to["done_reason"] = loads_only_ ? "load" : outcome.reason == FinishReason::length ? "length" : "stop";
        if (loads_only_) return;
        to["total_duration"] = nanoseconds(record.queue_ms + record.prefill_ms + record.decode_ms);
        to["load_duration"] = 0;
        to["prompt_eval_count"] = record.prompt_tokens;
        to["prompt_eval_duration"] = nanoseconds(record.prefill_ms);
        to["eval_count"] = record.generated_tokens;
        to["eval_duration"] = nanoseconds(record.decode_ms);
        to["timings"] = timings_json(record);
        add_truncated(record, to);
    }

    bool chat_, loads_only_, logprobs_;
    ResponseHead head_;
    std::string created_at_;
    const Tokenizer& tokenizer_;
    GatheredCall call_;  // the one that is written
    ChoiceOutcome outcome_;
};

}  // namespace

std::unique_ptr<AnswerShape> ollama_shape(bool chat, const OpenAiCall& call, const ResponseHead& head,
                                          const Tokenizer& tokenizer) {
    return std::make_unique<OllamaShape>(chat, call, head, tokenizer);
}

}  // namespace ft
