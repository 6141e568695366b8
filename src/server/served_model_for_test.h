// A small model for tests of requests: a token for each byte, two control tokens, and a template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/endpoint_call.h"
#include "server/json_body.h"
#include "text/chat_template.h"
#include "text/vocabulary_for_test.h"

namespace ft {

inline ChatTemplate template_of(std::string_view source) {
    Expected<ChatTemplate> parsed = ChatTemplate::parse(source);
    check(static_cast<bool>(parsed), "the template of the test");
    return std::move(*parsed);
}

// Shows everything: roles, contents, thinking, tools, calls, and the switches.
constexpr std::string_view k_template_with_tools =
    "{% for t in tools or [] %}<tool>{{ t.function.name }} {{ t.function.parameters | tojson }}\n{% endfor %}"
    "{% for m in messages %}<|s|>{{ m.role }}{% if m.name %}({{ m.name }}){% endif %}:"
    "{% if m.reasoning_content %}[{{ m.reasoning_content }}]{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}{% "
    "endfor %}"
    "{% endfor %}"
    "{% if enable_thinking is defined %}think={{ enable_thinking }}{% endif %}"
    "{% if reasoning_effort is defined %}effort={{ reasoning_effort }}{% endif %}"
    "{% if open is defined %}<think>{% endif %}";

class SmallModel {
 public:
    explicit SmallModel(std::string_view template_source = k_template_with_tools)
        : template_(template_of(template_source)) {
        use({});
    }

    void use(std::vector<std::string> assignments) {
        const Expected<Settings> settings = load_settings({.assignments = std::move(assignments)});
        check(static_cast<bool>(settings), "settings of the test");
        Expected<RequestDefaults> defaults = request_defaults(*settings, *tokenizer_);
        check(static_cast<bool>(defaults), "defaults of the test");
        defaults_ = std::move(*defaults);
    }

    ServedModel served(int64_t n_ctx = 4096) const { return {*tokenizer_, &template_, defaults_, n_ctx}; }
    const Tokenizer& tokenizer() const { return *tokenizer_; }

    ParsedEndpoint parse(Endpoint endpoint, std::string_view body, int64_t n_ctx = 4096) const {
        const auto json = parse_json(body);
        check(static_cast<bool>(json), "JSON of the test");
        return parse_endpoint(endpoint, *json, served(n_ctx), k_head);
    }

    std::string prompt_of(const ParsedEndpoint& parsed) const {
        return parsed.call ? tokenizer_->decode(parsed.call->call.requests.at(0).prompt)
                           : "refused: " + parsed.error.message;
    }

    inline static const ResponseHead k_head = {
        .id = "1a", .created = 1769862896, .model = "local-moe", .fingerprint = "f"};

 private:
    std::unique_ptr<Tokenizer> tokenizer_ = byte_chat_tokenizer();
    ChatTemplate template_;
    RequestDefaults defaults_;
};

// The figures of one answer.
inline RequestRecord record_for_test() {
    RequestRecord record;
    record.queue_ms = 1;
    record.prefill_ms = 2;
    record.decode_ms = 4;
    record.ttft_ms = 3;
    record.prompt_tokens = 10;
    record.cached_tokens = 6;
    record.generated_tokens = 3;
    return record;
}

// All that a client gets when the model writes `text` in answer to a call, one byte a token.
inline std::string streamed(EndpointCall& call, std::string_view text,
                            FinishReason reason = FinishReason::stop, std::string_view stop_text = "") {
    AnswerReader reader(call.call);
    std::string out = call.shape->begin();
    for (const char& c : text)
        for (const AnswerPiece& piece : reader.token(0, {&c, 1}, nullptr)) out += call.shape->piece(piece);
    for (const AnswerPiece& piece : reader.finish(0, "")) out += call.shape->piece(piece);
    out += call.shape->end(reader.outcome(0, reason, stop_text));
    const std::vector<RequestRecord> records = {record_for_test()};
    return out + call.shape->done(records);
}

inline std::string whole(EndpointCall& call, std::string_view text, FinishReason reason = FinishReason::stop,
                         std::string_view stop_text = "") {
    AnswerReader reader(call.call);
    std::vector<AnswerPiece> pieces = reader.token(0, text, nullptr);
    for (AnswerPiece& piece : reader.finish(0, "")) pieces.push_back(std::move(piece));
    const std::vector<ChoiceOutcome> outcomes = {reader.outcome(0, reason, stop_text)};
    const std::vector<RequestRecord> records = {record_for_test()};
    return call.shape->whole(pieces, outcomes, records);
}

}  // namespace ft
