#include "server/openai_response.h"

#include <algorithm>
#include <cmath>

#include "text/utf8.h"

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

// The older shape, of /v1/completions.
Json completion_logprobs(std::span<const TokenLogprobs> logprobs, size_t offset, const Tokenizer& tokenizer) {
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

Json chat_choice(const ChoiceResult& choice, bool logprobs, const Tokenizer& tokenizer) {
    Json message = {{"role", "assistant"}, {"content", choice.text}};
    if (!choice.thinking.empty()) message["reasoning_content"] = choice.thinking;
    return {{"message", std::move(message)},
            {"logprobs", logprobs ? chat_logprobs(choice.logprobs, tokenizer) : Json()}};
}

Json completion_choice(const ChoiceResult& choice, const std::string& echo, bool logprobs,
                       const Tokenizer& tokenizer) {
    return {{"text", echo + choice.text},
            {"logprobs", logprobs ? completion_logprobs(choice.logprobs, echo.size(), tokenizer) : Json()}};
}

}  // namespace

const char* openai_finish_reason(FinishReason reason) {
    return reason == FinishReason::length ? "length" : "stop";
}

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

Json usage_json(const RequestRecord& record) {
    return {{"prompt_tokens", record.prompt_tokens},
            {"completion_tokens", record.generated_tokens},
            {"total_tokens", record.prompt_tokens + record.generated_tokens},
            {"prompt_tokens_details", {{"cached_tokens", record.cached_tokens}}}};
}

Json timings_json(const RequestRecord& record) {
    const auto rate = [](int64_t n, double ms) { return ms > 0 ? static_cast<double>(n) * 1e3 / ms : 0.0; };
    const int64_t read = record.prompt_tokens - record.cached_tokens;
    return {{"queue_ms", record.queue_ms},
            {"cache_n", record.cached_tokens},
            {"prompt_n", read},
            {"prompt_ms", record.prefill_ms},
            {"prompt_per_second", rate(read, record.prefill_ms)},
            {"predicted_n", record.generated_tokens},
            {"predicted_ms", record.decode_ms},
            {"predicted_per_second", rate(record.generated_tokens, record.decode_ms)},
            {"ttft_ms", record.ttft_ms},
            {"experts",
             {{"hits", record.expert_hits},
              {"misses", record.expert_misses},
              {"bytes_read", record.expert_bytes}}}};
}

RequestRecord merged(std::span<const RequestRecord> records) {
    if (records.empty()) return {};
    RequestRecord all = records.front();
    double end = all.queue_ms + all.prefill_ms + all.decode_ms;
    for (const RequestRecord& record : records.subspan(1)) {
        end = std::max(end, record.queue_ms + record.prefill_ms + record.decode_ms);
        if (record.queue_ms < all.queue_ms) {
            all.queue_ms = record.queue_ms;
            all.prefill_ms = record.prefill_ms;
            all.ttft_ms = record.ttft_ms;
        }
        all.prompt_tokens += record.prompt_tokens;
        all.cached_tokens += record.cached_tokens;
        all.generated_tokens += record.generated_tokens;
        all.expert_hits += record.expert_hits;
        all.expert_misses += record.expert_misses;
        all.expert_bytes += record.expert_bytes;
        all.parked += record.parked;
    }
    all.decode_ms = end - all.queue_ms - all.prefill_ms;
    return all;
}

Json response_body(const OpenAiCall& call, const ResponseHead& head,
                   std::span<const AnswerCollector* const> answers, const Tokenizer& tokenizer) {
    const bool chat = call.route == OpenAiRoute::chat;
    Json choices = Json::array();
    std::vector<RequestRecord> records;
    for (size_t i = 0; i < answers.size(); i++) {
        const bool logprobs = call.requests[i].top_logprobs.has_value();
        for (const ChoiceResult& result : answers[i]->choices()) {
            Json choice = {{"index", choices.size()}};
            choice.update(chat ? chat_choice(result, logprobs, tokenizer)
                               : completion_choice(result, call.echoes.empty() ? "" : call.echoes[i],
                                                   logprobs, tokenizer));
            choice["finish_reason"] = openai_finish_reason(result.reason);
            choices.push_back(std::move(choice));
        }
        records.push_back(answers[i]->record());
    }
    const RequestRecord record = merged(records);
    return {{"id", head.id},
            {"object", chat ? "chat.completion" : "text_completion"},
            {"created", head.created},
            {"model", head.model},
            {"system_fingerprint", head.fingerprint},
            {"choices", std::move(choices)},
            {"usage", usage_json(record)},
            {"timings", timings_json(record)}};
}

}  // namespace ft
