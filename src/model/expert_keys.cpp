#include "model/expert_keys.h"

namespace ft {

namespace {

Expected<int64_t> positive_length(const Gguf& file, const std::string& key, int64_t otherwise) {
    auto value = file.get_int(key, otherwise);
    if (!value) return value.error();
    if (*value <= 0 || *value > (int64_t{1} << 24))
        return Error{Code::invalid,
                     fmt::format("{} is {}, but must lie between 1 and {}", key, *value, 1 << 24),
                     "The file is damaged or of a kind that is not known here."};
    return *value;
}

}  // namespace

Status read_expert_length(const Gguf& file, Hparams& hp) {
    if (hp.n_expert == 0)
        return Error{Code::invalid, fmt::format("{}.expert_count is missing or 0", hp.arch),
                     "A file of this architecture has experts; fetch it again."};
    auto length = positive_length(file, hp.arch + ".expert_feed_forward_length", hp.n_ff / hp.top_k);
    if (!length) return length.error();
    hp.n_ff_expert = *length;
    return {};
}

Status read_shared_length(const Gguf& file, Hparams& hp) {
    auto length = positive_length(file, hp.arch + ".expert_shared_feed_forward_length", hp.n_ff);
    if (!length) return length.error();
    hp.n_ff_shared = *length;
    return {};
}

}  // namespace ft
