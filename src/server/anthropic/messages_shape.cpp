#include <utility>

#include "server/block_shape.h"
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

// The blocks are the message's content.
class AnthropicShape : public BlockShape {
 public:
    AnthropicShape(const OpenAiCall& call, const ResponseHead& head)
        : head_(head),
          n_prompt_(call.requests.empty() ? 0 : static_cast<int64_t>(call.requests[0].prompt.size())) {}

    void prompt_read(int64_t cached_tokens) override { n_cached_ = cached_tokens; }

    std::string begin() override {
        RequestRecord prompt;
        prompt.prompt_tokens = n_prompt_;
        prompt.cached_tokens = n_cached_;
        prompt.generated_tokens = 1;
        Json message = message_json();
        message["usage"] = anthropic_usage(prompt);
        tell("message_start", {{"message", std::move(message)}});
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
        take_all(pieces, outcomes);
        const RequestRecord record = merged(records);
        Json message = message_json();
        message["content"] = std::move(blocks_);
        message["stop_reason"] = stop_reason();
        message["stop_sequence"] = stop_sequence();
        message["usage"] = anthropic_usage(record);
        message["timings"] = timings_json(record);
        add_truncated(record, message);
        return json_line(message);
    }

 private:
    Json message_json() const {
        return {{"id", head_.id},          {"type", "message"},        {"role", "assistant"},
                {"model", head_.model},    {"content", Json::array()}, {"stop_reason", nullptr},
                {"stop_sequence", nullptr}};
    }

    void begin_block(const AnswerPiece& piece) override {
        if (open_ == Block::text) block_ = {{"type", "text"}, {"text", ""}};
        else if (open_ == Block::thinking)
            block_ = {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
        else
            block_ = {
                {"type", "tool_use"}, {"id", piece.tool_id}, {"name", piece.text}, {"input", Json::object()}};
        tell("content_block_start", {{"index", blocks_.size()}, {"content_block", block_}});
    }

    void tell_growth(const std::string& text) override {
        switch (open_) {
            case Block::text:
                return tell_delta({{"type", "text_delta"}, {"text", text}});
            case Block::thinking:
                return tell_delta({{"type", "thinking_delta"}, {"thinking", text}});
            case Block::none:
            case Block::call:
                return tell_delta({{"type", "input_json_delta"}, {"partial_json", text}});
        }
    }

    void end_block(bool) override {
        if (open_ == Block::thinking) tell_delta({{"type", "signature_delta"}, {"signature", ""}});
        if (open_ == Block::call) block_["input"] = parsed_arguments(text_);
        else block_[open_ == Block::text ? "text" : "thinking"] = text_;
        tell("content_block_stop", {{"index", blocks_.size()}});
    }

    const char* stop_reason() const {
        if (outcome_.reason == FinishReason::length) return "max_tokens";
        if (outcome_.called_tools) return "tool_use";
        return outcome_.stop_text.empty() ? "end_turn" : "stop_sequence";
    }

    Json stop_sequence() const { return outcome_.stop_text.empty() ? Json() : Json(outcome_.stop_text); }

    void tell_delta(Json delta) {
        tell("content_block_delta", {{"index", blocks_.size()}, {"delta", std::move(delta)}});
    }

    void tell(std::string_view event, Json members) {
        Json data = {{"type", event}};
        data.update(members);
        events_ += sse(event, data);
    }

    ResponseHead head_;
    int64_t n_prompt_, n_cached_ = 0;
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
