#include "gguf/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/quantisation.h"
#include "gguf/tensor_type.h"
#include "gguf/writer.h"
#include "io/memory_file.h"

namespace ft {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint32_t k_f32 = 0, k_f16 = 1, k_q8_0 = 8, k_q4_k = 12, k_q6_k = 14;

void add_tensor(GgufWriter& writer, std::string_view name, uint32_t type, const std::vector<int64_t>& dims) {
    const TensorType sizes = *find_tensor_type(type);
    int64_t n = 1;
    for (const int64_t dim : dims) n *= dim;
    const std::vector<std::byte> data(static_cast<size_t>(n / sizes.block_values * sizes.block_bytes));
    writer.add_tensor(name, type, dims, data);
}

Summary summary_of(const std::string& bytes, size_t cut = 0) {
    const Expected<Gguf> gguf = Gguf::open(
        "f.gguf", Gguf::Cut::allow, [&](const std::string& path) -> Expected<std::unique_ptr<File>> {
            return std::unique_ptr<File>(
                std::make_unique<MemoryFile>(path, bytes.substr(0, bytes.size() - cut)));
        });
    EXPECT_TRUE(gguf) << gguf.error().sentence();
    return summarise(*gguf);
}

// Three layers that run and one of multi-token prediction; experts of layer 0 are larger.
GgufWriter mixture(uint32_t router_type = k_f32) {
    GgufWriter writer;
    writer.add("general.architecture", "qwen3moe");
    writer.add("general.name", "a mixture");
    writer.add("general.license", "mit");
    writer.add("general.file_type", uint32_t{15});
    writer.add("qwen3moe.block_count", uint32_t{4});
    writer.add("qwen3moe.nextn_predict_layers", uint32_t{1});
    writer.add("qwen3moe.context_length", uint32_t{4096});
    writer.add("qwen3moe.embedding_length", uint32_t{256});
    writer.add("qwen3moe.attention.head_count", uint32_t{4});
    writer.add("qwen3moe.attention.head_count_kv", uint32_t{2});
    writer.add("qwen3moe.attention.key_length", uint32_t{128});
    writer.add("qwen3moe.expert_count", uint32_t{8});
    writer.add("qwen3moe.expert_used_count", uint32_t{2});
    writer.add("tokenizer.ggml.model", "gpt2");
    writer.add("tokenizer.ggml.pre", "qwen2");
    writer.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
    writer.add("tokenizer.chat_template", "{{ messages }}");
    add_tensor(writer, "token_embd.weight", k_q4_k, {256, 3});
    add_tensor(writer, "output.weight", k_q6_k, {256, 3});
    add_tensor(writer, "output_norm.weight", k_f32, {256});
    for (int layer = 0; layer < 4; layer++) {
        const auto name = [&](std::string_view rest) { return fmt::format("blk.{}.{}", layer, rest); };
        add_tensor(writer, name("attn_k.weight"), k_q4_k, {256, 256});
        add_tensor(writer, name("ffn_gate_inp.weight"), router_type, {256, 8});
        add_tensor(writer, name("ffn_up_exps.weight"), k_q4_k, {256, 4, 8});
        add_tensor(writer, name("ffn_down_exps.weight"), layer == 0 ? k_q6_k : k_q4_k, {256, 4, 8});
        add_tensor(writer, name("ffn_up_shexp.weight"), k_q4_k, {256, 2});
    }
    return writer;
}

uint64_t role(const Summary& summary, Role role) { return summary.bytes_by_role[static_cast<size_t>(role)]; }

TEST(Summary, OfAMixture) {
    const Summary summary = summary_of(mixture().bytes());
    EXPECT_EQ(summary.architecture, "qwen3moe");
    EXPECT_EQ(summary.name, "a mixture");
    EXPECT_EQ(summary.license, "mit");
    EXPECT_EQ(summary.quantisation, "Q4_K_M");
    EXPECT_EQ(summary.context_length, 4096);
    EXPECT_EQ(summary.n_layers, 3);
    EXPECT_EQ(summary.n_mtp_layers, 1);
    constexpr uint64_t experts = 2 * 256 * 4 * 8;  // of a layer
    constexpr uint64_t others = 256 * 256 + 256 * 8 + 256 * 2;
    constexpr uint64_t global = 256 * 3 * 2 + 256;
    EXPECT_EQ(summary.total_parameters, global + 4 * (experts + others));
    EXPECT_EQ(summary.active_parameters, global + 3 * (experts / 4 + others));
    EXPECT_EQ(summary.n_experts, 8);
    EXPECT_EQ(summary.n_experts_used, 2);
    ASSERT_EQ(summary.expert_sizes.size(), 2u);
    EXPECT_EQ(summary.expert_sizes[0].bytes, 4u * (144 + 144));
    EXPECT_EQ(summary.expert_sizes[0].n_layers, 2);
    EXPECT_EQ(summary.expert_sizes[1].bytes, 4u * (144 + 210));
    EXPECT_EQ(summary.expert_sizes[1].n_layers, 1);
    // 3 layers, 2 heads, keys of 128 and values of 256 / 4, 2 bytes each
    EXPECT_EQ(summary.kv_bytes_per_token, 3u * 2 * (128 + 64) * 2);
    EXPECT_EQ(summary.tokenizer_model, "gpt2");
    EXPECT_EQ(summary.vocab_size, 3);
    EXPECT_EQ(summary.chat_template, "{{ messages }}");
    EXPECT_THAT(summary.warnings, IsEmpty());
}

TEST(Summary, BytesByRoleAndTypeAddUp) {
    const Summary summary = summary_of(mixture().bytes());
    uint64_t roles = 0;
    uint64_t types = 0;
    for (const uint64_t bytes : summary.bytes_by_role) roles += bytes;
    for (const auto& [name, bytes] : summary.bytes_by_type) types += bytes;
    EXPECT_EQ(roles, summary.tensor_bytes);
    EXPECT_EQ(types, summary.tensor_bytes);
    EXPECT_EQ(role(summary, Role::experts), 32u * (144 + 210) + 2 * 32u * (144 + 144));
    EXPECT_EQ(role(summary, Role::router), 3u * 256 * 8 * 4);
    EXPECT_EQ(role(summary, Role::attention), 3u * 256 * 144);
    EXPECT_EQ(role(summary, Role::shared), 3u * 2 * 144);
    EXPECT_EQ(role(summary, Role::embedding), 3u * 144);
    EXPECT_EQ(role(summary, Role::head), 3u * 210);
    EXPECT_EQ(role(summary, Role::norms), 256u * 4);
    EXPECT_EQ(role(summary, Role::mtp), 256u * 144 + 256 * 8 * 4 + 32 * 288 + 2 * 144);
    EXPECT_EQ(summary.bytes_by_type.at("F32"), 4u * 256 * 8 * 4 + 256 * 4);
}

TEST(Summary, WarnsOfARouterBelow16Bits) {
    EXPECT_THAT(summary_of(mixture(k_f16).bytes()).warnings, IsEmpty());
    EXPECT_THAT(summary_of(mixture(k_q8_0).bytes()).warnings,
                Contains(AllOf(HasSubstr("router"), HasSubstr("4 layers"), HasSubstr("Q8_0"))));
}

TEST(Summary, WarnsOfDataThatIsCutShort) {
    EXPECT_THAT(summary_of(mixture().bytes(), 100).warnings,
                Contains(AllOf(HasSubstr("cut short"), HasSubstr("bytes are missing"))));
}

TEST(Summary, OfAnUnknownFileIsEmptyButComplete) {
    GgufWriter writer;
    writer.add("odd.block_count", "four");
    add_tensor(writer, "first.weight", k_f32, {8});
    const Summary summary = summary_of(writer.bytes());
    EXPECT_EQ(summary.architecture, "");
    EXPECT_EQ(summary.total_parameters, 8u);
    EXPECT_EQ(summary.active_parameters, 8u);
    EXPECT_FALSE(summary.n_layers);
    EXPECT_FALSE(summary.kv_bytes_per_token);
    EXPECT_EQ(role(summary, Role::other), 32u);
    EXPECT_THAT(summary.warnings, Contains(HasSubstr("general.architecture")));
}

TEST(Summary, SenselessKeysBecomeWarnings) {
    GgufWriter writer;
    writer.add("general.architecture", "x");
    writer.add("general.name", uint32_t{5});
    writer.add("x.block_count", int32_t{-4});
    writer.add("x.attention.head_count", uint64_t{1} << 60);
    writer.add("x.attention.key_length", uint64_t{1} << 60);
    writer.add("tokenizer.ggml.bos_token_id", uint32_t{9});
    writer.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
    add_tensor(writer, "blk.0.attn_k.weight", k_f32, {8});
    const Summary summary = summary_of(writer.bytes());
    EXPECT_FALSE(summary.n_layers);
    EXPECT_FALSE(summary.kv_bytes_per_token);
    EXPECT_THAT(summary.warnings, Contains(HasSubstr("'general.name' is uint32")));
    EXPECT_THAT(summary.warnings, Contains(HasSubstr("'x.block_count' is negative")));
    EXPECT_THAT(summary.warnings, Contains(HasSubstr("'tokenizer.ggml.bos_token_id' is 9")));
}

TEST(Summary, OnlyAttentionLayersKeepKeysAndValues) {
    GgufWriter writer;
    writer.add("general.architecture", "qwen35moe");
    writer.add("qwen35moe.block_count", uint32_t{2});
    writer.add("qwen35moe.embedding_length", uint32_t{64});
    writer.add("qwen35moe.attention.head_count", uint32_t{2});
    writer.add_array<uint32_t>("qwen35moe.attention.head_count_kv", std::vector<uint32_t>{0, 1});
    add_tensor(writer, "blk.0.attn_qkv.weight", k_f32, {64, 4});
    add_tensor(writer, "blk.0.ssm_alpha.weight", k_f32, {64, 4});
    add_tensor(writer, "blk.1.attn_qkv.weight", k_f32, {64, 4});
    const Summary summary = summary_of(writer.bytes());
    EXPECT_EQ(summary.kv_bytes_per_token, 1u * (32 + 32) * 2);
    EXPECT_EQ(role(summary, Role::delta_net), 2u * 64 * 4 * 4);
    EXPECT_EQ(role(summary, Role::attention), 1u * 64 * 4 * 4);
}

TEST(Quantisation, TheTensorsDecideOverTheHint) {
    const auto name = [](std::optional<uint32_t> file_type, const std::vector<uint32_t>& types) {
        GgufWriter writer;
        if (file_type) writer.add("general.file_type", *file_type);
        int i = 0;
        for (const uint32_t type : types) add_tensor(writer, fmt::format("t{}", i++), type, {256, 2});
        return summary_of(writer.bytes()).quantisation;
    };
    EXPECT_EQ(name(15, {k_q4_k, k_q6_k}), "Q4_K_M");
    EXPECT_EQ(name(15 + 1024, {k_q4_k, k_q6_k}), "Q4_K_M");
    EXPECT_EQ(name(0, {k_q4_k, k_q6_k, k_q6_k}), "mostly Q6_K");
    EXPECT_EQ(name(15, {k_q8_0}), "Q8_0");
    EXPECT_EQ(name({}, {k_f16, k_f32}), "F16");
    EXPECT_EQ(name({}, {k_f32}), "F32");
    EXPECT_EQ(name({}, {}), "");
}

TEST(Roles, LayerOfAName) {
    EXPECT_EQ(layer_of("blk.12.attn_q.weight"), 12);
    EXPECT_EQ(layer_of("blk.x.attn_q.weight"), -1);
    EXPECT_EQ(layer_of("blk.-1.attn_q.weight"), -1);
    EXPECT_EQ(layer_of("blk.99999999999999999999.a"), -1);
    EXPECT_EQ(layer_of("blk.3"), -1);
    EXPECT_EQ(layer_of("token_embd.weight"), -1);
}

}  // namespace
}  // namespace ft
