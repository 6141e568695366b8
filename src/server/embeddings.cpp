#include "server/embeddings.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "server/gathered_answer.h"
#include "server/json_fields.h"
#include "server/model_lists.h"
#include "server/unoffered_fields.h"
#include "text/prompt.h"

namespace ft {

namespace {

using EmbeddingJson = nlohmann::ordered_json;

const char* field_of(EmbeddingRoute route) {
    return route == EmbeddingRoute::ollama_single ? "prompt" : "input";
}

std::optional<std::vector<int32_t>> ids_of(const EmbeddingJson& list, int n_vocab) {
    std::vector<int32_t> ids;
    for (const EmbeddingJson& id : list) {
        if (!id.is_number_integer() || id < 0 || id >= n_vocab) return std::nullopt;
        ids.push_back(id.get<int32_t>());
    }
    return ids;
}

// Puts the ids of one text into the call; ids that are too many are cut where that was asked for.
void take_text(JsonFields& fields, const EmbeddingJson& text, const ServedModel& model, bool cut,
               EmbeddingCall& call) {
    const char* name = field_of(call.route);
    std::vector<int32_t> ids;
    if (text.is_string()) ids = raw_prompt(model.tokenizer, text.get_ref<const std::string&>()).ids;
    else if (auto given = text.is_array() ? ids_of(text, model.tokenizer.vocab_size()) : std::nullopt)
        ids = std::move(*given);
    else return fields.expected(name, "texts, or lists of token ids of this model", text);
    const auto n = static_cast<int64_t>(ids.size());
    if (n == 0) return fields.fail(name, fmt::format("{}: a text is empty.", name));
    if (n >= model.n_ctx && !cut)
        return fields.fail(
            name, fmt::format("{}: a text has {} tokens, but the context has room for {}. Cut it.", name, n,
                              model.n_ctx - 1));
    ids.resize(static_cast<size_t>(std::min(n, model.n_ctx - 1)));
    call.n_tokens += static_cast<int64_t>(ids.size());
    Request request = model.defaults.request;
    request.prompt = std::move(ids);
    request.embed = true;
    request.max_tokens = 1;
    request.n_choices = 1;
    request.top_logprobs.reset();
    call.requests.push_back(std::move(request));
}

void take_texts(JsonFields& fields, const ServedModel& model, bool cut, EmbeddingCall& call) {
    const char* name = field_of(call.route);
    const EmbeddingJson* input = fields.find(name);
    if (!input) return fields.fail(name, fmt::format("{} is missing: the text to embed.", name));
    const bool is_list = input->is_array() && !input->empty() && !input->front().is_number();
    if (!is_list) return take_text(fields, *input, model, cut, call);
    if (input->size() > k_most_texts)
        return fields.fail(
            name, fmt::format("{} takes at most {} texts, not {}.", name, k_most_texts, input->size()));
    for (const EmbeddingJson& text : *input)
        if (!fields.failed()) take_text(fields, text, model, cut, call);
}

void check_name(JsonFields& fields, const std::string& served_name, std::optional<ApiError>& error) {
    const std::optional<std::string> name = fields.text("model");
    if (!name && !error) return fields.fail("model", "model is missing.");
    if (name && !is_served_model(*name, served_name))
        error = ApiError{
            .status = 404,
            .message = fmt::format("the model {} is not here, {} is.", printable(*name), served_name),
            .type = "not_found_error",
            .param = "model"};
}

std::vector<float> of_length_one(const std::vector<float>& vector) {
    double square = 0;
    for (const float value : vector) square += static_cast<double>(value) * static_cast<double>(value);
    const double length = std::sqrt(square);
    std::vector<float> out;
    for (const float value : vector)
        out.push_back(length > 0 ? static_cast<float>(static_cast<double>(value) / length) : 0.0f);
    return out;
}

std::string base64_of(const std::vector<float>& vector) {
    constexpr std::string_view k_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    for (const float value : vector) {
        const auto bits = std::bit_cast<uint32_t>(value);
        for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((bits >> shift) & 0xFF);
    }
    std::string out;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        uint32_t three = 0;
        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        const size_t n = std::min<size_t>(bytes.size() - i, 3);
        for (size_t k = 0; k < 4; k++) out += k <= n ? k_letters[(three >> (18 - 6 * k)) & 63] : '=';
    }
    return out;
}

}  // namespace

ParsedEmbedding parse_embedding(EmbeddingRoute route, const EmbeddingJson& body, const ServedModel& model,
                                int64_t n_embd, const std::string& served_name) {
    if (!body.is_object()) return {std::nullopt, {.message = "the body is no JSON object."}};
    std::optional<ApiError> error;
    JsonFields fields(body, error);
    EmbeddingCall call{.route = route};
    const bool ollama = route != EmbeddingRoute::openai;
    if (ollama) check_name(fields, served_name, error);
    refuse_unoffered(fields);
    const std::string format = fields.text("encoding_format").value_or("float");
    if (format != "float" && format != "base64")
        fields.fail("encoding_format",
                    fmt::format("encoding_format takes float or base64, not {}.", printable(format)));
    call.base64 = format == "base64";
    const auto dimensions = fields.integer("dimensions", 1, 1 << 20);
    if (dimensions && *dimensions != n_embd)
        fields.fail("dimensions",
                    fmt::format("dimensions is {}, but this model's vectors have {}.", *dimensions, n_embd));
    const bool cut = ollama && fields.boolean("truncate").value_or(true);
    if (!error) take_texts(fields, model, cut, call);
    if (error) return {std::nullopt, std::move(*error)};
    return {std::move(call), {}};
}

RequestRecord embedding_record(std::span<const RequestRecord> records, Seconds seconds) {
    RequestRecord all = merged(records);
    all.prefill_ms = std::max(0.0, seconds * 1e3 - all.queue_ms);
    all.decode_ms = 0;
    return all;
}

EmbeddingJson embedding_body(const EmbeddingCall& call, const std::vector<std::vector<float>>& vectors,
                             const std::string& served_name, const RequestRecord& record) {
    EmbeddingJson list = EmbeddingJson::array();
    for (const std::vector<float>& vector : vectors) {
        const std::vector<float> scaled = of_length_one(vector);
        if (call.route == EmbeddingRoute::ollama_single)
            return {{"embedding", scaled}, {"timings", timings_json(record)}};
        if (call.route == EmbeddingRoute::ollama) {
            list.push_back(scaled);
            continue;
        }
        EmbeddingJson row = {{"object", "embedding"}, {"index", list.size()}};
        if (call.base64) row["embedding"] = base64_of(scaled);
        else row["embedding"] = scaled;
        list.push_back(std::move(row));
    }
    if (call.route == EmbeddingRoute::ollama)
        return {{"model", served_name},
                {"embeddings", std::move(list)},
                {"total_duration", static_cast<int64_t>((record.queue_ms + record.prefill_ms) * 1e6)},
                {"load_duration", 0},
                {"prompt_eval_count", call.n_tokens},
                {"timings", timings_json(record)}};
    return {{"object", "list"},
            {"data", std::move(list)},
            {"model", served_name},
            {"usage", {{"prompt_tokens", call.n_tokens}, {"total_tokens", call.n_tokens}}},
            {"timings", timings_json(record)}};
}

}  // namespace ft
