#include <utility>

#include "server/block_shape.h"
#include "server/dialects.h"
#include "server/event_lines.h"
#include "server/gathered_answer.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// The blocks are the items of the output.
class ResponsesShape : public BlockShape {
 public:
    ResponsesShape(const ResponseHead& head, Json repeated) : head_(head), repeated_(std::move(repeated)) {}

    std::string begin() override {
        const Json response = response_json("in_progress");
        tell("response.created", {{"response", response}});
        tell("response.in_progress", {{"response", response}});
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
        take_all(pieces, outcomes);
        Json response = response_json(outcome_.reason == FinishReason::length ? "incomplete" : "completed");
        add_figures(records, response);
        return json_line(response);
    }

 private:
    void begin_block(const AnswerPiece& piece) override {
        if (open_ == Block::call) {
            block_ = item_json("function_call", "fc_");
            block_.update({{"call_id", piece.tool_id}, {"name", piece.text}, {"arguments", ""}});
            return tell_item("response.output_item.added");
        }
        if (open_ == Block::thinking) {
            block_ = item_json("reasoning", "rs_");
            block_["summary"] = Json::array();
        } else {
            block_ = item_json("message", "msg_");
            block_["role"] = "assistant";
        }
        block_["content"] = Json::array();
        tell_item("response.output_item.added");
        tell_part("response.content_part.added", "part", part_json());
    }

    void tell_growth(const std::string& text) override {
        if (open_ == Block::text) return tell_part("response.output_text.delta", "delta", text);
        if (open_ == Block::thinking) return tell_part("response.reasoning_text.delta", "delta", text);
        tell("response.function_call_arguments.delta",
             {{"item_id", block_["id"]}, {"output_index", blocks_.size()}, {"delta", text}});
    }

    void end_block(bool cut) override {
        if (open_ == Block::call) {
            block_["arguments"] = text_;
            tell("response.function_call_arguments.done", {{"item_id", block_["id"]},
                                                           {"output_index", blocks_.size()},
                                                           {"name", block_["name"]},
                                                           {"arguments", text_}});
        } else {
            const bool message = open_ == Block::text;
            tell_part(message ? "response.output_text.done" : "response.reasoning_text.done", "text", text_);
            tell_part("response.content_part.done", "part", part_json());
            block_["content"].push_back(part_json());
        }
        block_["status"] = cut ? "incomplete" : "completed";
        tell_item("response.output_item.done");
    }

    Json item_json(const char* type, const char* prefix) const {
        return {{"type", type},
                {"id", fmt::format("{}{}{}", prefix, head_.id, blocks_.size())},
                {"status", "in_progress"}};
    }

    Json part_json() const {
        if (open_ == Block::thinking) return {{"type", "reasoning_text"}, {"text", text_}};
        return {{"type", "output_text"},
                {"text", text_},
                {"annotations", Json::array()},
                {"logprobs", Json::array()}};
    }

    // An event of the item that is written.
    void tell_item(std::string_view event) {
        tell(event, {{"output_index", blocks_.size()}, {"item", block_}});
    }

    void tell(std::string_view event, Json members) {
        Json data = {{"type", event}, {"sequence_number", sequence_++}};
        data.update(members);
        events_ += sse(event, data);
    }

    // An event of the text of the item that is written.
    void tell_part(std::string_view event, const char* member, Json value) {
        Json members = {{"item_id", block_["id"]}, {"output_index", blocks_.size()}, {"content_index", 0}};
        members[member] = std::move(value);
        if (event.starts_with("response.output_text.")) members["logprobs"] = Json::array();
        tell(event, std::move(members));
    }

    Json response_json(const char* status) const {
        Json response = {{"id", "resp_" + head_.id},
                         {"object", "response"},
                         {"created_at", head_.created},
                         {"status", status},
                         {"background", false},
                         {"error", nullptr},
                         {"incomplete_details", nullptr},
                         {"model", head_.model},
                         {"output", blocks_}};
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
    int64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<AnswerShape> responses_shape(const ResponseHead& head, Json repeated) {
    return std::make_unique<ResponsesShape>(head, std::move(repeated));
}

}  // namespace ft
