#include <utility>

#include "server/dialects.h"
#include "server/event_lines.h"
#include "server/gathered_answer.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

Json anthropic_usage(const RequestRecord& record) {
    return {{"input_tokens", record.prompt_tokens - record.cached_tokens},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", record.cached_tokens},
            {"output_tokens", record.generated_tokens}};
}

// An answer is a list of blocks: thinking, text and calls, in the order that the model wrote them.
class AnthropicShape : public AnswerShape {
 public:
    AnthropicShape(const OpenAiCall& call, const ResponseHead& head)
        : head_(head),
          n_prompt_(call.requests.empty() ? 0 : static_cast<int64_t>(call.requests[0].prompt.size())) {}

    const char* content_type(bool stream) const override { return stream ? k_sse_type : k_json_type; }

    // What of the prompt is cached is not known yet: message_delta says it.
    std::string begin() override {
        RequestRecord prompt;
        prompt.prompt_tokens = n_prompt_;
        prompt.generated_tokens = 1;
        Json message = message_json();
        message["usage"] = anthropic_usage(prompt);
        tell("message_start", {{"message", std::move(message)}});
        return take_events();
    }

    std::string piece(const AnswerPiece& piece) override {
        add(piece);
        return take_events();
    }

    std::string end(const ChoiceOutcome& outcome) override {
        finish(outcome);
        return take_events();
    }

    std::string done(std::span<const RequestRecord> records) override {
        const RequestRecord record = merged(records);
        Json last = {{"delta", {{"stop_reason", stop_reason()}, {"stop_sequence", stop_sequence()}}},
                     {"usage", anthropic_usage(record)},
                     {"timings", timings_json(record)}};
        add_truncated(record, last);
        tell("message_delta", std::move(last));
        tell("message_stop", Json::object());
        return take_events();
    }

    std::string error(const ApiError& error) override { return sse("error", anthropic_error(error)); }

    std::string whole(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes,
                      std::span<const RequestRecord> records) override {
        for (const AnswerPiece& piece : pieces) add(piece);
        for (const ChoiceOutcome& outcome : outcomes) finish(outcome);
        const RequestRecord record = merged(records);
        Json message = message_json();
        message["content"] = std::move(content_);
        message["stop_reason"] = stop_reason();
        message["stop_sequence"] = stop_sequence();
        message["usage"] = anthropic_usage(record);
        message["timings"] = timings_json(record);
        add_truncated(record, message);
        return json_line(message);
    }

 private:
    using Kind = AnswerPiece::Kind;

    Json message_json() const {
        return {{"id", head_.id},          {"type", "message"},        {"role", "assistant"},
                {"model", head_.model},    {"content", Json::array()}, {"stop_reason", nullptr},
                {"stop_sequence", nullptr}};
    }

    void add(const AnswerPiece& piece) {
        switch (piece.kind) {
            case Kind::text:
                if (piece.text.empty()) return;
                if (open_ != "text") open_block({{"type", "text"}, {"text", ""}});
                return grow(piece.text, {{"type", "text_delta"}, {"text", piece.text}});
            case Kind::thinking:
                if (open_ != "thinking")
                    open_block({{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
                return grow(piece.text, {{"type", "thinking_delta"}, {"thinking", piece.text}});
            case Kind::tool_begin:
                return open_block({{"type", "tool_use"},
                                   {"id", piece.tool_id},
                                   {"name", piece.text},
                                   {"input", Json::object()}});
            case Kind::tool_arguments:
                return grow(piece.text, {{"type", "input_json_delta"}, {"partial_json", piece.text}});
            case Kind::tool_end:
                return close_block();
        }
    }

    void open_block(Json block) {
        close_block();
        open_ = block["type"].get<std::string>();
        text_.clear();
        tell("content_block_start", {{"index", content_.size()}, {"content_block", block}});
        block_ = std::move(block);
    }

    void grow(const std::string& text, Json delta) {
        text_ += text;
        tell("content_block_delta", {{"index", content_.size()}, {"delta", std::move(delta)}});
    }

    void close_block() {
        if (open_.empty()) return;
        if (open_ == "thinking")
            tell("content_block_delta",
                 {{"index", content_.size()}, {"delta", {{"type", "signature_delta"}, {"signature", ""}}}});
        if (open_ == "tool_use") block_["input"] = parsed_arguments(text_);
        else block_[open_] = text_;
        tell("content_block_stop", {{"index", content_.size()}});
        content_.push_back(std::move(block_));
        open_.clear();
    }

    void finish(const ChoiceOutcome& outcome) {
        outcome_ = outcome;
        close_block();
        if (!content_.empty()) return;
        open_block({{"type", "text"}, {"text", ""}});  // an empty answer is a block too
        close_block();
    }

    const char* stop_reason() const {
        if (outcome_.reason == FinishReason::length) return "max_tokens";
        if (outcome_.called_tools) return "tool_use";
        return outcome_.stop_text.empty() ? "end_turn" : "stop_sequence";
    }

    Json stop_sequence() const { return outcome_.stop_text.empty() ? Json() : Json(outcome_.stop_text); }

    void tell(std::string_view event, Json members) {
        Json data = {{"type", event}};
        data.update(members);
        events_ += sse(event, data);
    }

    std::string take_events() { return std::exchange(events_, ""); }

    ResponseHead head_;
    int64_t n_prompt_;
    Json content_ = Json::array();  // blocks that are complete
    Json block_;                    // the one that is written
    std::string open_;              // its type; "": none is
    std::string text_;              // its text, or its arguments
    std::string events_;
    ChoiceOutcome outcome_;
};

const char* anthropic_error_type(int status) {
    switch (status) {
        case 401:
            return "authentication_error";
        case 403:
            return "permission_error";
        case 404:
        case 405:
            return "not_found_error";
        case 413:
            return "request_too_large";
        case 429:
            return "rate_limit_error";
        case 503:
        case 529:
            return "overloaded_error";
        default:
            return status < 500 ? "invalid_request_error" : "api_error";
    }
}

}  // namespace

Json anthropic_error(const ApiError& error) {
    return {{"type", "error"},
            {"error", {{"type", anthropic_error_type(error.status)}, {"message", error.message}}}};
}

std::unique_ptr<AnswerShape> anthropic_shape(const OpenAiCall& call, const ResponseHead& head) {
    return std::make_unique<AnthropicShape>(call, head);
}

}  // namespace ft
