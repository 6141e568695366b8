// Texts to vectors: bodies of OpenAI's /v1/embeddings and Ollama's /api/embed and /api/embeddings, and their
// answers. A vector is the mean of the hidden states after the last layer, over the positions of the text,
// scaled to length 1.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/api_error.h"
#include "server/openai_request.h"

namespace ft {

enum class EmbeddingRoute { openai, ollama, ollama_single };  // the last: one text, one vector

struct EmbeddingCall {
    EmbeddingRoute route = EmbeddingRoute::openai;
    std::vector<Request> requests = {};  // one for each text
    bool base64 = false;
    int64_t n_tokens = 0;  // of all texts
};
struct ParsedEmbedding {
    std::optional<EmbeddingCall> call;
    ApiError error;  // where there is no call
};
// n_embd: length of a vector. served_name: whose absence is Ollama's 404.
ParsedEmbedding parse_embedding(EmbeddingRoute route, const nlohmann::ordered_json& body,
                                const ServedModel& model, int64_t n_embd, const std::string& served_name);

// The figures of a call from those of its texts, of which not all were with the engine at once. seconds: that
// all of it took.
RequestRecord embedding_record(std::span<const RequestRecord> records, Seconds seconds);

// vectors: one for each request, as the engine gives them.
nlohmann::ordered_json embedding_body(const EmbeddingCall& call,
                                      const std::vector<std::vector<float>>& vectors,
                                      const std::string& served_name, const RequestRecord& record);

constexpr size_t k_most_texts = 2048;  // of one call

}  // namespace ft
