#include "model/hparams.h"

#include <algorithm>
#include <cmath>

#include "model/archs.h"

namespace ft {

namespace {

// A sane upper limit for a count: beyond it the file is damaged or hostile, and sizes would overflow.
constexpr int64_t k_most_layers = 1024, k_most_width = 1 << 20, k_most_experts = 4096, k_most_heads = 4096;
constexpr int64_t k_most_context = int64_t{1} << 32, k_most_ff = int64_t{1} << 40;

class KeyReader {
 public:
    KeyReader(const Gguf& file, const std::string& arch) : file_(file), prefix_(arch + ".") {}

    // An integer in [least, most]; with `otherwise` the key may be missing. Errors are kept: see status().
    int64_t integer(const char* name, int64_t least, int64_t most, std::optional<int64_t> otherwise = {}) {
        if (!status_) return least;
        const std::string key = prefix_ + name;
        auto value = file_.get_int(key, otherwise);
        if (!value) {
            // Counts per layer may be one number or an array; an array of equal numbers is one number.
            auto list = file_.get_ints(key);
            if (!list || list->empty()) return fail(value.error());
            for (int64_t other : *list)
                if (other != list->front())
                    return fail(Error{Code::unsupported, fmt::format("{} differs between layers", key),
                                      "No architecture that this program runs has that."});
            value = list->front();
        }
        if (*value < least || *value > most)
            return fail(
                Error{Code::invalid,
                      fmt::format("{} is {}, but must lie between {} and {}", key, *value, least, most),
                      "The file is damaged or of a kind that is not known here."});
        return *value;
    }
    double number(const char* name, std::optional<double> otherwise) {
        if (!status_) return 0.0;
        auto value = file_.get_float(prefix_ + name, otherwise);
        if (!value) return static_cast<double>(fail(value.error()));
        return *value;
    }
    const Status& status() const { return status_; }

 private:
    int64_t fail(Error error) {
        status_ = std::move(error);
        return 0;
    }
    const Gguf& file_;
    std::string prefix_;
    Status status_;
};

// The embedding has a row for every token that the file names.
Status read_vocabulary_size(const Gguf& file, Hparams& hp) {
    const TensorInfo* embedding = file.find_tensor("token_embd.weight");
    if (embedding == nullptr)
        return Error{Code::invalid, "the file has no tensor token_embd.weight",
                     "It holds no complete model; fetch it again, or name a file that does."};
    hp.n_vocab = embedding->dims[1];
    const auto tokens = file.metadata().find("tokenizer.ggml.tokens");
    const auto n_token =
        tokens == file.metadata().end() ? hp.n_vocab : static_cast<int64_t>(tokens->second.count);
    if (hp.n_vocab <= 0 || hp.n_vocab > (int64_t{1} << 31) - 1 || hp.n_vocab != n_token)
        return Error{Code::invalid,
                     fmt::format("token_embd.weight has {} rows for the {} tokens of tokenizer.ggml.tokens",
                                 hp.n_vocab, n_token),
                     "The file is damaged; fetch it again."};
    return {};
}

Status read_experts(KeyReader& keys, Hparams& hp) {
    hp.n_expert = static_cast<int>(keys.integer("expert_count", 0, k_most_experts, 0));
    if (hp.n_expert == 0) return keys.status();
    hp.top_k = static_cast<int>(keys.integer("expert_used_count", 1, hp.n_expert));
    // 0 stands for "no scaling", as in files that lack the key
    const double scale = keys.number("expert_weights_scale", 0.0);
    hp.expert_weights_scale = scale == 0.0 ? 1.0f : static_cast<float>(scale);
    return keys.status();
}

}  // namespace

bool Hparams::has_recurrent() const {
    return std::find(recurrent.begin(), recurrent.end(), true) != recurrent.end();
}

Expected<Hparams> read_hparams(const Gguf& file, const Arch& arch) {
    Hparams hp;
    hp.arch = arch.name;
    KeyReader keys(file, hp.arch);
    const int64_t blocks = keys.integer("block_count", 1, k_most_layers);
    const int64_t skipped = keys.integer("nextn_predict_layers", 0, std::max<int64_t>(0, blocks - 1), 0);
    hp.n_layer = static_cast<int>(blocks - skipped);
    hp.n_embd = keys.integer("embedding_length", 1, k_most_width);
    hp.n_ctx_model = keys.integer("context_length", 1, k_most_context);
    hp.n_head = static_cast<int>(keys.integer("attention.head_count", 1, k_most_heads));
    hp.n_head_kv = static_cast<int>(keys.integer("attention.head_count_kv", 1, k_most_heads, hp.n_head));
    if (!keys.status()) return keys.status().error();
    if (hp.n_head % hp.n_head_kv != 0)
        return Error{Code::invalid,
                     fmt::format("{}.attention.head_count {} is no multiple of head_count_kv {}", hp.arch,
                                 hp.n_head, hp.n_head_kv),
                     "The file is damaged or of a kind that is not known here."};
    hp.dim_k = keys.integer("attention.key_length", 1, 65536, hp.n_embd / hp.n_head);
    hp.dim_v = keys.integer("attention.value_length", 1, 65536, hp.n_embd / hp.n_head);
    hp.n_ff = keys.integer("feed_forward_length", 0, k_most_ff, 0);
    const double eps = keys.number("attention.layer_norm_rms_epsilon", std::nullopt);
    const double scale = keys.number("attention.scale", 0.0);
    if (!keys.status()) return keys.status().error();
    if (!(eps > 0.0) || !std::isfinite(eps))
        return Error{
            Code::invalid,
            fmt::format("{}.attention.layer_norm_rms_epsilon is {}, but must be above 0", hp.arch, eps),
            "The file is damaged; fetch it again."};
    hp.eps = static_cast<float>(eps);
    // sqrt and division of doubles are exact by IEEE 754, on every machine
    hp.attn_scale = scale != 0.0 ? static_cast<float>(scale)
                                 : static_cast<float>(1.0 / std::sqrt(static_cast<double>(hp.dim_k)));
    if (Status s = read_experts(keys, hp); !s) return s.error();
    auto rope = read_rope(file, hp.arch, arch.rope, hp.dim_k, hp.n_ctx_model);
    if (!rope) return rope.error();
    hp.rope = *rope;
    if (Status s = read_vocabulary_size(file, hp); !s) return s.error();
    if (Status s = arch.read(file, hp); !s) return s.error();
    return hp;
}

}  // namespace ft
