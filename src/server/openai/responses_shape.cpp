#include <utility>

#include "server/dialects.h"
#include "server/event_lines.h"
#include "server/gathered_answer.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// An answer is a list of items: thinking, messages and calls, in the order that the model wrote them. The
// same items are built for a stream and for a whole body; in a stream each step is told as an event.
class ResponsesShape : public AnswerShape {
 public:
    ResponsesShape(const ResponseHead& head, Json repeated) : head_(head), repeated_(std::move(repeated)) {}

    const char* content_type(bool stream) const override { return stream ? k_sse_type : k_json_type; }

    std::string begin() override {
        const Json response = response_json("in_progress");
        tell("response.created", {{"response", response}});
        tell("response.in_progress", {{"response", response}});
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
        const bool cut = outcome_.reason == FinishReason::length;
        Json response = response_json(cut ? "incomplete" : "completed");
        add_figures(records, response);
        tell(cut ? "response.incomplete" : "response.completed", {{"response", std::move(response)}});
        return take_events();
    }

    std::string error(const ApiError& error) override {
        Json response = response_json("failed");
        response["error"] = {{"code", error.code.empty() ? error.type : error.code},
                             {"message", error.message}};
        tell("error", {{"code", error.code.empty() ? error.type : error.code},
                       {"message", error.message},
                       {"param", error.param.empty() ? Json() : Json(error.param)}});
        tell("response.failed", {{"response", std::move(response)}});
        return take_events();
    }

    std::string whole(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes,
                      std::span<const RequestRecord> records) override {
        for (const AnswerPiece& piece : pieces) add(piece);
        for (const ChoiceOutcome& outcome : outcomes) finish(outcome);
        Json response = response_json(outcome_.reason == FinishReason::length ? "incomplete" : "completed");
        add_figures(records, response);
        return json_line(response);
    }

 private:
    using Kind = AnswerPiece::Kind;

    void add(const AnswerPiece& piece) {
        switch (piece.kind) {
            case Kind::text:
                if (piece.text.empty()) return;
                if (open_ != "message") open_text("message");
                text_ += piece.text;
                return tell_part("response.output_text.delta", "delta", piece.text);
            case Kind::thinking:
                thinking_tokens_ += piece.tokens;
                if (open_ != "reasoning") open_text("reasoning");
                text_ += piece.text;
                return tell_part("response.reasoning_text.delta", "delta", piece.text);
            case Kind::tool_begin:
                close();
                open_item("function_call", "fc_",
                          {{"call_id", piece.tool_id}, {"name", piece.text}, {"arguments", ""}});
                return;
            case Kind::tool_arguments:
                text_ += piece.text;
                return tell(
                    "response.function_call_arguments.delta",
                    {{"item_id", item_["id"]}, {"output_index", output_.size()}, {"delta", piece.text}});
            case Kind::tool_end:
                return close();
        }
    }

    void finish(const ChoiceOutcome& outcome) {
        outcome_ = outcome;
        close(outcome.reason == FinishReason::length ? "incomplete" : "completed");
        if (!output_.empty()) return;
        open_text("message");  // an empty answer is a message too
        close();
    }

    // item_ becomes the item that is written; its type is in open_.
    void open_item(const char* type, const char* prefix, const Json& members) {
        item_ = {{"type", type}, {"id", fmt::format("{}{}{}", prefix, head_.id, output_.size())}};
        item_["status"] = "in_progress";
        item_.update(members);
        open_ = type;
        text_.clear();
        tell("response.output_item.added", {{"output_index", output_.size()}, {"item", item_}});
    }

    void open_text(const char* type) {
        close();
        if (type == std::string_view("message"))
            open_item(type, "msg_", {{"role", "assistant"}, {"content", Json::array()}});
        else open_item(type, "rs_", {{"summary", Json::array()}, {"content", Json::array()}});
        tell_part("response.content_part.added", "part", part_json());
    }

    Json part_json() const {
        if (open_ == "reasoning") return {{"type", "reasoning_text"}, {"text", text_}};
        return {{"type", "output_text"},
                {"text", text_},
                {"annotations", Json::array()},
                {"logprobs", Json::array()}};
    }

    void close(const char* status = "completed") {
        if (open_.empty()) return;
        if (open_ == "function_call") {
            item_["arguments"] = text_;
            tell("response.function_call_arguments.done", {{"item_id", item_["id"]},
                                                           {"output_index", output_.size()},
                                                           {"name", item_["name"]},
                                                           {"arguments", text_}});
        } else {
            const bool message = open_ == "message";
            tell_part(message ? "response.output_text.done" : "response.reasoning_text.done", "text", text_);
            tell_part("response.content_part.done", "part", part_json());
            item_["content"].push_back(part_json());
        }
        item_["status"] = status;
        tell("response.output_item.done", {{"output_index", output_.size()}, {"item", item_}});
        output_.push_back(std::move(item_));
        open_.clear();
        text_.clear();
    }

    void tell(std::string_view event, Json members) {
        Json data = {{"type", event}, {"sequence_number", sequence_++}};
        data.update(members);
        events_ += sse(event, data);
    }

    // An event of the text of the item that is written.
    void tell_part(std::string_view event, const char* member, Json value) {
        Json members = {{"item_id", item_["id"]}, {"output_index", output_.size()}, {"content_index", 0}};
        members[member] = std::move(value);
        if (event.starts_with("response.output_text.")) members["logprobs"] = Json::array();
        tell(event, std::move(members));
    }

    std::string take_events() { return std::exchange(events_, ""); }

    Json response_json(const char* status) const {
        Json response = {{"id", "resp_" + head_.id},
                         {"object", "response"},
                         {"created_at", head_.created},
                         {"status", status},
                         {"background", false},
                         {"error", nullptr},
                         {"incomplete_details", nullptr},
                         {"model", head_.model},
                         {"output", output_}};
        if (status == std::string_view("incomplete"))
            response["incomplete_details"] = {{"reason", "max_output_tokens"}};
        response.update(repeated_);
        response["usage"] = nullptr;
        return response;
    }

    void add_figures(std::span<const RequestRecord> records, Json& response) const {
        const RequestRecord record = merged(records);
        response["usage"] = {{"input_tokens", record.prompt_tokens},
                             {"input_tokens_details", {{"cached_tokens", record.cached_tokens}}},
                             {"output_tokens", record.generated_tokens},
                             {"output_tokens_details", {{"reasoning_tokens", thinking_tokens_}}},
                             {"total_tokens", record.prompt_tokens + record.generated_tokens}};
        response["timings"] = timings_json(record);
        add_truncated(record, response);
    }

    ResponseHead head_;
    Json repeated_;
    Json output_ = Json::array();  // items that are complete
    Json item_;                    // the one that is written
    std::string open_;             // its type; "": none is
    std::string text_;             // its text, or its arguments
    std::string events_;
    int64_t sequence_ = 0;
    int64_t thinking_tokens_ = 0;
    ChoiceOutcome outcome_;
};

}  // namespace

std::unique_ptr<AnswerShape> responses_shape(const ResponseHead& head, Json repeated) {
    return std::make_unique<ResponsesShape>(head, std::move(repeated));
}

}  // namespace ft
