#include "server/openai_response.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "server/event_lines.h"

namespace ft {

namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity; OpenAI writes this for a token that cannot come.
constexpr double k_never = -9999.0;

std::string bytes_of(int32_t id, const Tokenizer& tokenizer) {
    std::string bytes;
    tokenizer.append_bytes(id, true, bytes);
    return bytes;
}

double finite(double logprob) { return std::isfinite(logprob) ? logprob : k_never; }

Json token_json(const TokenLogprob& token, const Tokenizer& tokenizer) {
    const std::string bytes = bytes_of(token.id, tokenizer);
    Json list = Json::array();
    for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
    return {{"token", mend_utf8(bytes)}, {"logprob", finite(token.logprob)}, {"bytes", std::move(list)}};
}

// The older shape, of /v1/completions. offset: of the first token in the text of its choice; moved on.
Json completion_logprobs(std::span<const TokenLogprobs> logprobs, size_t& offset,
                         const Tokenizer& tokenizer) {
    Json tokens = Json::array(), values = Json::array(), tops = Json::array(), offsets = Json::array();
    for (const TokenLogprobs& token : logprobs) {
        const std::string text = mend_utf8(bytes_of(token.chosen.id, tokenizer));
        Json top = Json::object();
        for (const TokenLogprob& other : token.top)
            top[mend_utf8(bytes_of(other.id, tokenizer))] = finite(other.logprob);
        tokens.push_back(text);
        values.push_back(finite(token.chosen.logprob));
        tops.push_back(std::move(top));
        offsets.push_back(offset);
        offset += text.size();
    }
    return {{"tokens", std::move(tokens)},
            {"token_logprobs", std::move(values)},
            {"top_logprobs", std::move(tops)},
            {"text_offset", std::move(offsets)}};
}

const char* openai_finish_reason(const ChoiceOutcome& outcome) {
    if (outcome.reason == FinishReason::length) return "length";
    return outcome.called_tools ? "tool_calls" : "stop";
}

Json openai_usage(const RequestRecord& record, int64_t thinking_tokens) {
    return {{"prompt_tokens", record.prompt_tokens},
            {"completion_tokens", record.generated_tokens},
            {"total_tokens", record.prompt_tokens + record.generated_tokens},
            {"prompt_tokens_details", {{"cached_tokens", record.cached_tokens}}},
            {"completion_tokens_details", {{"reasoning_tokens", thinking_tokens}}}};
}

Json message_json(const GatheredChoice& choice) {
    const bool only_calls = choice.text.empty() && !choice.calls.empty();
    Json message = {{"role", "assistant"}, {"content", only_calls ? Json() : Json(choice.text)}};
    if (!choice.thinking.empty()) message["reasoning_content"] = choice.thinking;
    if (choice.calls.empty()) return message;
    Json& calls = message["tool_calls"] = Json::array();
    for (const GatheredCall& call : choice.calls)
        calls.push_back({{"id", call.id},
                         {"type", "function"},
                         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    return message;
}

// A delta of a chat; null: the piece says nothing to the client.
Json delta_json(const AnswerPiece& piece) {
    const auto of_call = [&](Json call) { return Json{{"tool_calls", Json::array({std::move(call)})}}; };
    switch (piece.kind) {
        case AnswerPiece::Kind::text:
            return {{"content", piece.text}};
        case AnswerPiece::Kind::thinking:
            return {{"reasoning_content", piece.text}};
        case AnswerPiece::Kind::tool_begin:
            return of_call({{"index", piece.tool},
                            {"id", piece.tool_id},
                            {"type", "function"},
                            {"function", {{"name", piece.text}, {"arguments", ""}}}});
        case AnswerPiece::Kind::tool_arguments:
            return of_call({{"index", piece.tool}, {"function", {{"arguments", piece.text}}}});
        case AnswerPiece::Kind::tool_end:
            break;
    }
    return nullptr;
}

// Both routes; what differs between them is in the functions that ask for chat_.
class OpenAiShape : public AnswerShape {
 public:
    OpenAiShape(const OpenAiCall& call, const ResponseHead& head, const Tokenizer& tokenizer)
        : head_(head),
          tokenizer_(tokenizer),
          chat_(call.route == OpenAiRoute::chat),
          include_usage_(call.include_usage),
          logprobs_(!call.requests.empty() && call.requests[0].top_logprobs.has_value()),
          open_choices_(n_choices_of(call)) {
        offsets_.resize(open_choices_);
        for (size_t i = 0; i < call.requests.size(); i++)
            for (int n = 0; n < call.requests[i].n_choices; n++)
                echoes_.push_back(call.echoes.empty() ? "" : call.echoes[i]);
        for (size_t i = 0; i < open_choices_; i++) offsets_[i] = echoes_[i].size();
    }

    const char* content_type(bool stream) const override { return stream ? k_sse_type : k_json_type; }

    std::string begin() override {
        std::string out;
        for (size_t i = 0; i < echoes_.size(); i++) {
            if (chat_) out += chunk({{"delta", {{"role", "assistant"}, {"content", ""}}}}, i, {});
            else if (!echoes_[i].empty()) out += chunk({{"text", echoes_[i]}}, i, {});
        }
        return out;
    }

    std::string piece(const AnswerPiece& piece) override {
        if (piece.kind == AnswerPiece::Kind::thinking) thinking_tokens_ += piece.tokens;
        Json delta = chat_ ? delta_json(piece) : Json();
        if (chat_ && delta.is_null() && piece.logprobs.empty()) return "";
        if (chat_ && delta.is_null()) delta = Json::object();
        Json members = chat_ ? Json{{"delta", std::move(delta)}} : Json{{"text", piece.text}};
        return chunk(std::move(members), piece.choice, piece.logprobs);
    }

    // The end of the last choice waits for its timings.
    std::string end(const ChoiceOutcome& outcome) override {
        Json members = chat_ ? Json{{"delta", Json::object()}} : Json{{"text", ""}};
        Json last = chunk_json(std::move(members), outcome.choice, {}, openai_finish_reason(outcome));
        if (open_choices_ > 0 && --open_choices_ == 0) {
            last_chunk_ = std::move(last);
            return "";
        }
        return sse(last);
    }

    std::string done(std::span<const RequestRecord> records) override {
        const RequestRecord record = merged(records);
        std::string out;
        if (last_chunk_.is_object()) {
            last_chunk_["timings"] = timings_json(record);
            add_truncated(record, last_chunk_);
            out += sse(last_chunk_);
        }
        if (include_usage_) {
            Json usage = head_json("chunk");
            usage["choices"] = Json::array();
            usage["usage"] = openai_usage(record, thinking_tokens_);
            usage["timings"] = timings_json(record);
            out += sse(usage);
        }
        return out.append(k_sse_done);
    }

    std::string error(const ApiError& error) override { return sse(to_json(error)).append(k_sse_done); }

    std::string whole(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes,
                      std::span<const RequestRecord> records) override {
        return json_line(whole_json(pieces, outcomes, records));
    }

    Json whole_json(std::span<const AnswerPiece> pieces, std::span<const ChoiceOutcome> outcomes,
                    std::span<const RequestRecord> records) const {
        const std::vector<GatheredChoice> choices = gather(echoes_.size(), pieces, outcomes);
        int64_t thinking_tokens = 0;
        Json list = Json::array();
        for (size_t i = 0; i < choices.size(); i++) {
            const GatheredChoice& choice = choices[i];
            size_t offset = echoes_[i].size();
            Json entry = {{"index", i}};
            if (chat_) entry["message"] = message_json(choice);
            else entry["text"] = echoes_[i] + choice.text;
            entry["logprobs"] = logprobs_json(choice.logprobs, offset);
            entry["finish_reason"] = openai_finish_reason(choice.outcome);
            thinking_tokens += choice.thinking_tokens;
            list.push_back(std::move(entry));
        }
        const RequestRecord record = merged(records);
        Json body = head_json("whole");
        body["choices"] = std::move(list);
        body["usage"] = openai_usage(record, thinking_tokens);
        body["timings"] = timings_json(record);
        add_truncated(record, body);
        return body;
    }

 private:
    Json head_json(std::string_view what) const {
        const char* object = !chat_            ? "text_completion"
                             : what == "whole" ? "chat.completion"
                                               : "chat.completion.chunk";
        return {{"id", head_.id},
                {"object", object},
                {"created", head_.created},
                {"model", head_.model},
                {"system_fingerprint", head_.fingerprint}};
    }

    Json logprobs_json(std::span<const TokenLogprobs> logprobs, size_t& offset) const {
        if (!logprobs_) return nullptr;
        return chat_ ? chat_logprobs(logprobs, tokenizer_)
                     : completion_logprobs(logprobs, offset, tokenizer_);
    }

    // members: what the choice says, a delta or a text.
    Json chunk_json(Json members, size_t choice, std::span<const TokenLogprobs> logprobs,
                    const char* finish) {
        Json entry = {{"index", choice}};
        entry.update(members);
        entry["logprobs"] = logprobs.empty() ? Json() : logprobs_json(logprobs, offsets_[choice]);
        entry["finish_reason"] = finish ? Json(finish) : Json();
        Json chunk = head_json("chunk");
        chunk["choices"] = Json::array({std::move(entry)});
        if (include_usage_) chunk["usage"] = nullptr;
        return chunk;
    }

    std::string chunk(Json members, size_t choice, std::span<const TokenLogprobs> logprobs) {
        return sse(chunk_json(std::move(members), choice, logprobs, nullptr));
    }

    ResponseHead head_;
    const Tokenizer& tokenizer_;
    bool chat_, include_usage_, logprobs_;
    std::vector<std::string> echoes_;  // of each choice
    std::vector<size_t> offsets_;      // of its next token, for the older shape of logprobs
    size_t open_choices_;
    int64_t thinking_tokens_ = 0;
    Json last_chunk_;
};

}  // namespace

Json chat_logprobs(std::span<const TokenLogprobs> logprobs, const Tokenizer& tokenizer) {
    Json content = Json::array();
    for (const TokenLogprobs& token : logprobs) {
        Json entry = token_json(token.chosen, tokenizer);
        entry["top_logprobs"] = Json::array();
        for (const TokenLogprob& other : token.top)
            entry["top_logprobs"].push_back(token_json(other, tokenizer));
        content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
}

size_t n_choices_of(const OpenAiCall& call) {
    size_t n = 0;
    for (const Request& request : call.requests) n += static_cast<size_t>(request.n_choices);
    return n;
}

std::unique_ptr<AnswerShape> openai_shape(const OpenAiCall& call, const ResponseHead& head,
                                          const Tokenizer& tokenizer) {
    return std::make_unique<OpenAiShape>(call, head, tokenizer);
}

Json response_body(const OpenAiCall& call, const ResponseHead& head,
                   std::span<const AnswerCollector* const> answers, const Tokenizer& tokenizer) {
    std::vector<AnswerPiece> pieces;
    std::vector<ChoiceOutcome> outcomes;
    std::vector<RequestRecord> records;
    for (const AnswerCollector* answer : answers) {
        pieces.insert(pieces.end(), answer->pieces().begin(), answer->pieces().end());
        outcomes.insert(outcomes.end(), answer->outcomes().begin(), answer->outcomes().end());
        records.push_back(answer->record());
    }
    return OpenAiShape(call, head, tokenizer).whole_json(pieces, outcomes, records);
}

}  // namespace ft
