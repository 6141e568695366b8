// Answers about the model that is served: lists, descriptions, versions, in each dialect.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ft {

// What is told of the model. Numbers that are not known are 0.
struct ServedModelInfo {
    std::string name;
    int64_t created = 0;       // seconds since 1970: of the file
    std::string digest;        // that stands for the model: 64 hexadecimal digits
    int64_t bytes = 0;         // of its files
    int64_t parameters = 0;    // in all
    std::string quantisation;  // "Q4_K_M"
    std::string architecture;  // "qwen3moe"
    int64_t context = 0;       // tokens that a conversation may have here
    int64_t trained_context = 0;
    std::string template_text;
    int64_t embedding_length = 0;
    int64_t vocabulary = 0;
    bool tools = false;     // the template knows functions
    bool thinking = false;  // the template knows <think>
};

// Whether a name that a client gives is the model's: with or without Ollama's ":latest", and the prefix that
// `freetoken list` shows (ollama:, lm-studio:). Of a served "OWNER/REPO/FILE" the last part will do.
bool is_served_model(std::string_view name, std::string_view served);

nlohmann::ordered_json openai_models(const ServedModelInfo& model);  // GET /v1/models
nlohmann::ordered_json openai_model(const ServedModelInfo& model);   // GET /v1/models/NAME

// GET /v1/models as Anthropic has it: for requests with the header anthropic-version.
nlohmann::ordered_json anthropic_models(const ServedModelInfo& model);
nlohmann::ordered_json anthropic_model(const ServedModelInfo& model);

nlohmann::ordered_json ollama_tags(const ServedModelInfo& model);  // GET /api/tags
nlohmann::ordered_json ollama_show(const ServedModelInfo& model);  // POST /api/show
// GET /api/ps. vram_bytes: of it that lie on a card.
nlohmann::ordered_json ollama_ps(const ServedModelInfo& model, int64_t vram_bytes);
// GET /api/version. version: of this program; clients are told that of the API, too.
nlohmann::ordered_json ollama_version(std::string_view version);

// "35.1B", "560M": of a number of parameters, as Ollama writes it.
std::string parameter_size(int64_t parameters);

}  // namespace ft
