#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/log.h"
#include "base/system_error.h"
#include "text/pretokenizer_rules.h"
#include "text/special_tokens.h"

namespace ft {

namespace {

constexpr const char* k_export_again = "Export or download the model again with its tokenizer.";

struct ModelName {
    const char* name;
    TokenizerModel model;
};
constexpr ModelName k_models[] = {
    {"gpt2", TokenizerModel::byte_bpe},
    {"llama", TokenizerModel::sentencepiece},
    {"gemma4", TokenizerModel::gemma_bpe},
};

// Ids that a file may name, and what they are where it does not (SentencePiece models number them alike).
struct SpecialId {
    const char* key;
    int Vocabulary::* id;
    int sentencepiece_default;
};
constexpr SpecialId k_special_ids[] = {
    {"tokenizer.ggml.bos_token_id", &Vocabulary::bos_id, 1},
    {"tokenizer.ggml.eos_token_id", &Vocabulary::eos_id, 2},
    {"tokenizer.ggml.unknown_token_id", &Vocabulary::unknown_id, 0},
    {"tokenizer.ggml.eot_token_id", &Vocabulary::eot_id, -1},
    {"tokenizer.ggml.eom_token_id", &Vocabulary::eom_id, -1},
};

Error invalid(std::string what) { return Error{Code::invalid, std::move(what), k_export_again}; }

Status read_model(const Gguf& file, Vocabulary& v) {
    constexpr const char* key = "tokenizer.ggml.model";
    if (!file.has(key))
        return Error{Code::not_found, fmt::format("the file has no vocabulary (no {})", key),
                     "A model file with a tokenizer is needed; weights alone cannot read text."};
    auto name = file.get_string(key);
    if (!name) return name.error();
    v.model_name = *name;
    if (v.model_name == "none" || v.model_name == "no_vocab")
        return Error{Code::not_found,
                     fmt::format("the file has no vocabulary ({} is \"{}\")", key, v.model_name),
                     "A model file with a tokenizer is needed; weights alone cannot read text."};
    const auto* row = std::find_if(std::begin(k_models), std::end(k_models),
                                   [&](const ModelName& m) { return v.model_name == m.name; });
    if (row == std::end(k_models))
        return Error{Code::unsupported,
                     fmt::format("{} \"{}\" is not supported", key, printable(v.model_name)),
                     "Supported are gpt2 (byte-level BPE), llama (SentencePiece) and gemma4."};
    v.model = row->model;
    return {};
}

Status read_pre(const Gguf& file, Vocabulary& v) {
    constexpr const char* key = "tokenizer.ggml.pre";
    auto name = file.get_string(key, "");
    if (!name) return name.error();
    v.pre_name = *name;
    if (v.model != TokenizerModel::byte_bpe) return {};
    const std::string_view wanted = v.pre_name.empty() ? "default" : std::string_view(v.pre_name);
    v.rule = find_pretokenizer(wanted);
    if (v.rule == nullptr)
        return Error{Code::unsupported,
                     fmt::format("{} \"{}\" is an unknown pre-tokenizer", key, printable(v.pre_name)),
                     "Another split of the text would make the answers worse unseen. Known are: " +
                         pretokenizer_names() + "."};
    if (v.rule->lossy)
        log("warn",
            "the file {} pre-tokenizer ({}): text is split by the default rule, which is most likely not "
            "the model's own and makes its answers worse",
            v.pre_name.empty() ? "names no" : "names the default", key);
    return {};
}

Expected<StringList> read_strings(const Gguf& file, std::string_view key) {
    const auto it = file.metadata().find(key);
    if (it == file.metadata().end())
        return Error{Code::not_found, fmt::format("the vocabulary lacks {}", key), k_export_again};
    if (it->second.type != ValueType::array || it->second.element != ValueType::string)
        return invalid(fmt::format("the vocabulary's {} is no array of strings", key));
    StringList list(it->second);
    if (list.size() != it->second.count)
        return invalid(fmt::format("the vocabulary's {} ends after {} of {} strings", key, list.size(),
                                   it->second.count));
    return list;
}

Status read_tokens(const Gguf& file, Vocabulary& v) {
    constexpr const char* key = "tokenizer.ggml.tokens";
    auto tokens = read_strings(file, key);
    if (!tokens) return tokens.error();
    if (tokens->size() == 0) return invalid(fmt::format("the vocabulary is empty ({} has no entry)", key));
    if (tokens->size() > std::numeric_limits<int32_t>::max())
        return invalid(fmt::format("the vocabulary's {} has {} entries, more than an id can count", key,
                                   tokens->size()));
    v.tokens = std::move(*tokens);
    return {};
}

Status check_special_tokens(const Vocabulary& v) {
    for (int32_t id = 0; id < v.size(); ++id) {
        const TokenType type = v.type(id);
        const bool special =
            type == TokenType::control || type == TokenType::unknown || type == TokenType::user_defined;
        if (special && v.text(id).size() > k_longest_special_token)
            return invalid(fmt::format("the special token {} has {} bytes, more than {}", id,
                                       v.text(id).size(), k_longest_special_token));
    }
    return {};
}

Status read_types(const Gguf& file, Vocabulary& v) {
    constexpr const char* key = "tokenizer.ggml.token_type";
    v.types.assign(v.tokens.size(), TokenType::normal);
    if (!file.has(key)) return {};
    auto types = file.get_ints(key);
    if (!types) return types.error();
    if (types->size() != v.tokens.size())
        return invalid(fmt::format("{} has {} entries for {} tokens", key, types->size(), v.tokens.size()));
    std::transform(types->begin(), types->end(), v.types.begin(), [](int64_t type) {
        return type >= 0 && type <= 6 ? static_cast<TokenType>(type) : TokenType::undefined;
    });
    return check_special_tokens(v);
}

Status read_scores(const Gguf& file, Vocabulary& v) {
    constexpr const char* key = "tokenizer.ggml.scores";
    if (v.model != TokenizerModel::sentencepiece) return {};
    auto scores = file.get_floats(key);
    if (!scores) return scores.error();
    if (scores->size() != v.tokens.size())
        return invalid(fmt::format("{} has {} entries for {} tokens", key, scores->size(), v.tokens.size()));
    if (std::none_of(scores->begin(), scores->end(), [](float score) { return std::isfinite(score); }))
        return invalid(fmt::format("{} has no score that is a finite number", key));
    v.scores = std::move(*scores);
    for (float& score : v.scores)
        if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();
    return {};
}

Status read_merges(const Gguf& file, Vocabulary& v) {
    constexpr const char* key = "tokenizer.ggml.merges";
    if (v.model == TokenizerModel::sentencepiece) return {};
    auto merges = read_strings(file, key);
    if (!merges) return merges.error();
    for (size_t i = 0; i < merges->size(); ++i) {
        const std::string_view merge = (*merges)[i];
        const size_t space = merge.find(' ', 1);
        if (space == std::string_view::npos || space + 1 == merge.size())
            return invalid(fmt::format("{}[{}] is \"{}\", not two parts with a space between", key, i,
                                       printable(merge, 40)));
    }
    v.merges = std::move(*merges);
    return {};
}

Status read_special_ids(const Gguf& file, Vocabulary& v) {
    for (const SpecialId& special : k_special_ids) {
        const int otherwise = v.model == TokenizerModel::sentencepiece ? special.sentencepiece_default : -1;
        if (!file.has(special.key)) {
            v.*special.id = otherwise < v.size() ? otherwise : -1;
            continue;
        }
        auto id = file.get_int(special.key);
        if (!id) return id.error();
        if (*id < 0 || *id >= v.size())
            return invalid(
                fmt::format("{} is {}, outside the vocabulary of {} tokens", special.key, *id, v.size()));
        v.*special.id = static_cast<int>(*id);
    }
    return {};
}

Status read_flags(const Gguf& file, Vocabulary& v) {
    const bool sentencepiece = v.model == TokenizerModel::sentencepiece;
    auto add_bos = file.get_bool("tokenizer.ggml.add_bos_token",
                                 sentencepiece || (v.rule != nullptr && v.rule->adds_bos));
    if (!add_bos) return add_bos.error();
    auto add_eos = file.get_bool("tokenizer.ggml.add_eos_token", false);
    if (!add_eos) return add_eos.error();
    auto prefix = file.get_bool("tokenizer.ggml.add_space_prefix", sentencepiece);
    if (!prefix) return prefix.error();
    // Gemma 4 was trained with a BOS throughout; its early files deny it.
    v.add_bos = (*add_bos || v.model == TokenizerModel::gemma_bpe) && v.bos_id >= 0;
    v.add_eos = *add_eos && v.eos_id >= 0;
    v.add_space_prefix = *prefix && v.model != TokenizerModel::byte_bpe;
    return {};
}

}  // namespace

Expected<Vocabulary> read_vocabulary(const Gguf& file) {
    Vocabulary v;
    for (const auto read : {read_model, read_pre, read_tokens, read_types, read_scores, read_merges,
                            read_special_ids, read_flags}) {
        Status s = read(file, v);
        if (s) continue;
        const bool named = s.error().what.starts_with(path_text(file.path()));  // a key's own error names it
        return named ? s.error() : s.error().within(file.path());
    }
    return v;
}

}  // namespace ft
