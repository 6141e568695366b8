#include "server/model_lists.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ft {
namespace {

using nlohmann::ordered_json;

const ServedModelInfo k_info = {.name = "local-moe",
                                .created = 1769862896,
                                .digest = "abc",
                                .bytes = 12345,
                                .parameters = 35100000000,
                                .quantisation = "Q4_K_M",
                                .architecture = "qwen3moe",
                                .context = 1024,
                                .trained_context = 4096,
                                .template_text = "{{ x }}",
                                .embedding_length = 64,
                                .vocabulary = 300,
                                .tools = true};

TEST(ModelLists, OpenAi) {
    EXPECT_EQ(openai_models(k_info),
              ordered_json::parse(R"({"object": "list", "data": [{"id": "local-moe", "object":
        "model", "created": 1769862896, "owned_by": "freetoken", "max_model_len": 1024, "meta": {"n_vocab": 300, "n_ctx":
        1024, "n_ctx_train": 4096, "n_embd": 64, "n_params": 35100000000, "size": 12345}}]})"));
    EXPECT_EQ(openai_model(k_info), openai_models(k_info)["data"][0]);
}

TEST(ModelLists, Anthropic) {
    EXPECT_EQ(anthropic_models(k_info), ordered_json::parse(R"({"data": [{"type": "model", "id": "local-moe",
        "display_name": "local-moe", "created_at": "2026-01-31T12:34:56Z", "max_input_tokens": 1024}], "has_more": false,
        "first_id": "local-moe", "last_id": "local-moe"})"));
    EXPECT_EQ(anthropic_model(k_info), anthropic_models(k_info)["data"][0]);
}

TEST(ModelLists, Ollama) {
    const ordered_json details =
        ordered_json::parse(R"({"parent_model": "", "format": "gguf", "family": "qwen3moe",
        "families": ["qwen3moe"], "parameter_size": "35.1B", "quantization_level": "Q4_K_M"})");
    EXPECT_EQ(
        ollama_tags(k_info),
        (ordered_json{{"models", ordered_json::array({ordered_json{{"name", "local-moe"},
                                                                   {"model", "local-moe"},
                                                                   {"modified_at", "2026-01-31T12:34:56Z"},
                                                                   {"size", 12345},
                                                                   {"digest", "abc"},
                                                                   {"details", details}}})}}));
    const ordered_json show = ollama_show(k_info);
    EXPECT_EQ(show["template"], "{{ x }}");
    EXPECT_EQ(show["details"], details);
    EXPECT_EQ(show["model_info"],
              ordered_json::parse(R"({"general.architecture": "qwen3moe", "general.parameter_count":
        35100000000, "qwen3moe.context_length": 1024, "qwen3moe.embedding_length": 64})"));
    EXPECT_EQ(show["capabilities"], ordered_json::parse(R"(["completion", "tools"])"));
    const ordered_json ps = ollama_ps(k_info, 7);
    EXPECT_EQ(ps["models"][0]["name"], "local-moe");
    EXPECT_EQ(ps["models"][0]["size_vram"], 7);
    EXPECT_EQ(ps["models"][0]["context_length"], 1024);
    EXPECT_TRUE(ps["models"][0].contains("expires_at"));
    // as clients compare it: three numbers, 0.6 or newer
    EXPECT_EQ(ollama_version("0.1.0"),
              ordered_json::parse(R"({"version": "0.12.11", "freetoken": "0.1.0"})"));
}

TEST(ModelLists, NamesOfTheModel) {
    EXPECT_TRUE(is_served_model("a", "a"));
    EXPECT_TRUE(is_served_model("a:latest", "a"));
    EXPECT_TRUE(is_served_model("a", "a:latest"));
    EXPECT_FALSE(is_served_model("a:7b", "a"));
    for (const char* name : {"demo:28m", "ollama:demo:28m"}) {
        EXPECT_TRUE(is_served_model(name, "demo:28m")) << name;
        EXPECT_TRUE(is_served_model(name, "ollama:demo:28m")) << name;
        EXPECT_FALSE(is_served_model(name, "demo:7b")) << name;
    }
    for (const char* name : {"p/r/f-Q4_K_M", "lm-studio:p/r/f-Q4_K_M", "f-Q4_K_M"})
        EXPECT_TRUE(is_served_model(name, "p/r/f-Q4_K_M")) << name;
    EXPECT_FALSE(is_served_model("", "p/"));
    EXPECT_FALSE(is_served_model("r/f", "f"));
    EXPECT_FALSE(is_served_model("", "a"));
}

TEST(ModelLists, SizesOfParameters) {
    EXPECT_EQ(parameter_size(35100000000), "35.1B");
    EXPECT_EQ(parameter_size(560000000), "560M");
    EXPECT_EQ(parameter_size(12000), "12K");
}

}  // namespace
}  // namespace ft
