#include "gguf/summary.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/bytes.h"
#include "gguf/quantisation.h"
#include "gguf/tensor_type.h"

namespace ft {

namespace {

constexpr int64_t k_most_layers = 1 << 16;  // beyond every model; keeps sums over layers short

// Collects a Summary. A key of a wrong type or with a senseless number becomes a warning.
class Summariser {
 public:
    explicit Summariser(const Gguf& gguf) : gguf_(gguf), arch_(gguf.architecture()) {}
    Summary run();

 private:
    void add_identity();
    void add_layers();
    void add_sizes();
    void add_expert_sizes();
    void add_kv_bytes();
    void add_tokenizer();
    void warn_about_data();
    void warn_about_routers();
    void warn_about_tokenizer();
    void warn_about_tokens();

    std::string model_key(std::string_view rest) const { return fmt::format("{}.{}", arch_, rest); }
    std::string text(std::string_view key);
    std::optional<int64_t> count(const std::string& key);
    std::vector<int64_t> counts(const std::string& key);
    int64_t in_layer(const std::vector<int64_t>& values, int64_t layer) const;
    bool runs(const TensorInfo& tensor) const { return layer_of(tensor.name) < n_layers_; }
    std::set<int64_t> attention_layers() const;

    const Gguf& gguf_;
    std::string arch_;
    int64_t n_layers_ = INT64_MAX;  // all, where the file does not say
    Summary summary_;
};

Summary Summariser::run() {
    add_identity();
    add_layers();
    add_sizes();
    add_expert_sizes();
    add_kv_bytes();
    add_tokenizer();
    warn_about_data();
    warn_about_routers();
    warn_about_tokenizer();
    warn_about_tokens();
    return std::move(summary_);
}

std::string Summariser::text(std::string_view key) {
    const Expected<std::string> value = gguf_.get_string(key, "");
    if (value) return *value;
    summary_.warnings.push_back(value.error().what);
    return "";
}

std::vector<int64_t> Summariser::counts(const std::string& key) {
    if (!gguf_.has(key)) return {};
    const Expected<std::vector<int64_t>> values = gguf_.get_ints(key);
    if (values && std::all_of(values->begin(), values->end(), [](int64_t v) { return v >= 0; }))
        return *values;
    summary_.warnings.push_back(values ? fmt::format("key '{}' is negative", key) : values.error().what);
    return {};
}

std::optional<int64_t> Summariser::count(const std::string& key) {
    const std::vector<int64_t> values = counts(key);
    if (values.empty()) return std::nullopt;
    return *std::max_element(values.begin(), values.end());
}

// A count may be one number for all layers or one for each.
int64_t Summariser::in_layer(const std::vector<int64_t>& values, int64_t layer) const {
    if (values.size() == 1) return values[0];
    return layer >= 0 && static_cast<size_t>(layer) < values.size() ? values[static_cast<size_t>(layer)] : 0;
}

void Summariser::add_identity() {
    summary_.architecture = arch_;
    if (arch_.empty())
        summary_.warnings.push_back("key 'general.architecture' is missing: no program can run this file");
    summary_.name = text("general.name");
    summary_.license = text("general.license");
    if (summary_.license.empty()) summary_.license = text("general.license.name");
    summary_.kind = text("general.type");
    if (!summary_.kind.empty() && summary_.kind != "model")
        summary_.warnings.push_back(
            fmt::format("this is no model but something beside one: '{}'", summary_.kind));
    summary_.context_length = count(model_key("context_length"));
    summary_.quantisation = quantisation_name(gguf_);
}

void Summariser::add_layers() {
    const std::optional<int64_t> blocks = count(model_key("block_count"));
    if (!blocks) return;
    summary_.n_mtp_layers = std::min(count(model_key("nextn_predict_layers")).value_or(0), *blocks);
    summary_.n_layers = n_layers_ = *blocks - summary_.n_mtp_layers;
}

void Summariser::add_sizes() {
    summary_.n_experts = count(model_key("expert_count")).value_or(0);
    summary_.n_experts_used = count(model_key("expert_used_count")).value_or(0);
    const std::vector<int64_t> used = counts(model_key("expert_used_count"));
    const std::vector<Role> roles = roles_of(gguf_.tensors(), n_layers_);
    double active = 0;
    uint64_t whole = 0;
    for (size_t i = 0; i < roles.size(); i++) {
        const TensorInfo& tensor = gguf_.tensors()[i];
        const auto n_values = static_cast<uint64_t>(tensor.n_values());
        summary_.total_parameters += n_values;
        summary_.tensor_bytes += tensor.bytes;
        summary_.bytes_by_role[static_cast<size_t>(roles[i])] += tensor.bytes;
        summary_.bytes_by_type[tensor_type_name(tensor.type)] += tensor.bytes;
        if (!runs(tensor)) continue;
        if (roles[i] != Role::experts || summary_.n_experts == 0) whole += n_values;
        else
            active += static_cast<double>(n_values) *
                      std::min(1.0, static_cast<double>(in_layer(used, layer_of(tensor.name))) /
                                        static_cast<double>(summary_.n_experts));
    }
    summary_.active_parameters = whole + static_cast<uint64_t>(std::min(active + 0.5, 9e18));
}

void Summariser::add_expert_sizes() {
    if (summary_.n_experts == 0) return;
    std::map<int64_t, uint64_t> of_layer;
    for (const TensorInfo& tensor : gguf_.tensors())
        if (tensor.name.find("_exps.weight") != std::string::npos && layer_of(tensor.name) >= 0 &&
            runs(tensor))
            of_layer[layer_of(tensor.name)] += tensor.bytes / static_cast<uint64_t>(summary_.n_experts);
    std::map<uint64_t, int64_t> layers;
    for (const auto& [layer, bytes] : of_layer) layers[bytes]++;
    for (const auto& [bytes, n_layers] : layers) summary_.expert_sizes.push_back({bytes, n_layers});
}

// Layers that keep keys and values, told by their tensors. A fused attn_qkv beside ssm_* feeds a recurrent
// state.
std::set<int64_t> Summariser::attention_layers() const {
    std::set<int64_t> layers;
    std::set<int64_t> fused;
    std::set<int64_t> recurrent;
    for (const TensorInfo& tensor : gguf_.tensors()) {
        const int64_t layer = layer_of(tensor.name);
        if (layer < 0 || !runs(tensor)) continue;
        const auto holds = [&](std::string_view part) { return tensor.name.find(part) != std::string::npos; };
        if (holds(".attn_k.") || holds(".attn_kv_a_mqa.") || holds(".attn_kv_b.")) layers.insert(layer);
        if (holds(".attn_qkv.")) fused.insert(layer);
        if (holds(".ssm_")) recurrent.insert(layer);
    }
    std::set_difference(fused.begin(), fused.end(), recurrent.begin(), recurrent.end(),
                        std::inserter(layers, layers.end()));
    return layers;
}

void Summariser::add_kv_bytes() {
    const std::vector<int64_t> heads = counts(model_key("attention.head_count"));
    std::vector<int64_t> kv_heads = counts(model_key("attention.head_count_kv"));
    if (kv_heads.empty()) kv_heads = heads;
    const std::set<int64_t> layers = attention_layers();
    const int64_t n_embd = count(model_key("embedding_length")).value_or(0);
    const int64_t n_heads = heads.empty() ? 0 : *std::max_element(heads.begin(), heads.end());
    const int64_t head_dim = n_heads > 0 ? n_embd / n_heads : 0;
    const auto key_length =
        static_cast<uint64_t>(count(model_key("attention.key_length")).value_or(head_dim));
    const auto value_length =
        static_cast<uint64_t>(count(model_key("attention.value_length")).value_or(head_dim));
    // Compressed attention keeps one latent vector and one rotated key for all heads.
    const auto latent = static_cast<uint64_t>(count(model_key("attention.kv_lora_rank")).value_or(0));
    const auto rotated = static_cast<uint64_t>(count(model_key("rope.dimension_count")).value_or(0));
    if (layers.empty() || (latent == 0 && (kv_heads.empty() || key_length + value_length == 0))) return;
    uint64_t values = 0;
    for (const int64_t layer : layers) {
        const std::optional<uint64_t> more =
            latent > 0
                ? checked_add(latent, rotated)
                : checked_mul(static_cast<uint64_t>(in_layer(kv_heads, layer)), key_length + value_length);
        if (!more || *more > (uint64_t{1} << 40)) return;  // senseless keys
        values += *more;
    }
    summary_.kv_bytes_per_token = values * 2;
}

void Summariser::add_tokenizer() {
    summary_.tokenizer_model = text("tokenizer.ggml.model");
    summary_.tokenizer_pre = text("tokenizer.ggml.pre");
    const auto tokens = gguf_.metadata().find("tokenizer.ggml.tokens");
    if (tokens != gguf_.metadata().end() && tokens->second.type == ValueType::array)
        summary_.vocab_size = static_cast<int64_t>(tokens->second.count);
    else summary_.vocab_size = count(model_key("vocab_size"));
    if (gguf_.has("tokenizer.chat_template")) summary_.chat_template = text("tokenizer.chat_template");
}

void Summariser::warn_about_data() {
    if (gguf_.missing_bytes() > 0) {
        summary_.warnings.push_back(
            fmt::format("the data is cut short: {} bytes are missing; the model cannot run until it "
                        "is downloaded again",
                        gguf_.missing_bytes()));
    }
    if (summary_.n_layers && *summary_.n_layers > k_most_layers)
        summary_.warnings.push_back(fmt::format("key '{}' is senseless", model_key("block_count")));
    const Expected<int64_t> version = gguf_.get_int("general.quantization_version", 2);
    if (version && *version < 2)
        summary_.warnings.push_back(
            "quantised in a layout that is gone (general.quantization_version 1): the weights would be "
            "misread");
}

// A coarse router gives near-ties to the wrong experts: a documented cause of text that is fluent and
// senseless.
void Summariser::warn_about_routers() {
    std::vector<const TensorInfo*> coarse;
    for (const TensorInfo& tensor : gguf_.tensors()) {
        const std::optional<TensorType> type = find_tensor_type(tensor.type);
        const bool below_16_bits = type && type->block_bytes < 2 * type->block_values;
        if (tensor.name.find("ffn_gate_inp.") != std::string::npos && below_16_bits)
            coarse.push_back(&tensor);
    }
    if (coarse.empty()) return;
    summary_.warnings.push_back(
        fmt::format("the router is stored below F16 in {} {} ('{}' is {}): routing is distorted, which gives "
                    "fluent nonsense; use a "
                    "file whose router is F32 or F16",
                    coarse.size(), coarse.size() == 1 ? "layer" : "layers", printable(coarse[0]->name),
                    tensor_type_name(coarse[0]->type)));
}

void Summariser::warn_about_tokenizer() {
    const std::string& model = summary_.tokenizer_model;
    const bool none = model.empty() || model == "none" || model == "no_vocab";
    if (none) summary_.warnings.push_back("there is no tokenizer: text cannot be given to this model");
    if (model == "gpt2" && summary_.tokenizer_pre.empty())
        summary_.warnings.push_back(
            "key 'tokenizer.ggml.pre' is missing: text may be split in another way than in training");
    if (!none && !summary_.chat_template && !gguf_.tensors().empty())
        summary_.warnings.push_back("there is no chat template: chat needs one with --template");
    if (summary_.n_experts > 0 && summary_.n_experts_used == 0)
        summary_.warnings.push_back(fmt::format("key '{}' is missing or 0", model_key("expert_used_count")));
}

void Summariser::warn_about_tokens() {
    for (const char* key :
         {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"}) {
        if (!gguf_.has(key)) continue;
        const Expected<int64_t> id = gguf_.get_int(key);
        if (!id) summary_.warnings.push_back(id.error().what);
        else if (summary_.vocab_size && (*id < 0 || *id >= *summary_.vocab_size))
            summary_.warnings.push_back(fmt::format("key '{}' is {}, but the vocabulary has {} tokens", key,
                                                    *id, *summary_.vocab_size));
    }
}

}  // namespace

Summary summarise(const Gguf& gguf) { return Summariser(gguf).run(); }

}  // namespace ft
