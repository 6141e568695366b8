#include "text/tokenizer_json.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "text/special_tokens.h"

namespace ft {

namespace {

using TokenizerJson = nlohmann::json;

// Texts and kinds by id; kinds stay nothing where the JSON has no such id.
struct NewTokens {
    std::vector<std::string> texts;
    std::vector<std::optional<TokenType>> types;
};

Error wrong_json(const std::string& path, std::string what) {
    return Error{
        Code::invalid, fmt::format("{}: {}", printable(path), what),
        "model.tokenizer takes the tokenizer.json of this very model; without it the file's own is used."};
}

const TokenizerJson* member(const TokenizerJson& object, const char* name) {
    if (!object.is_object()) return nullptr;
    const auto at = object.find(name);
    return at == object.end() ? nullptr : &*at;
}

Status put(NewTokens& tokens, const std::string& text, const TokenizerJson* id, TokenType type,
           const std::string& path) {
    if (!id || !id->is_number_integer() || *id < 0 || *id >= tokens.texts.size())
        return wrong_json(path,
                          fmt::format("the token \"{}\" has the id {}, but the model has {} tokens",
                                      printable(text, 40), id ? id->dump() : "none", tokens.texts.size()));
    const auto at = id->get<size_t>();
    if (type != TokenType::normal && text.size() > k_longest_special_token)
        return wrong_json(path, fmt::format("the special token {} has {} bytes, more than {}", at,
                                            text.size(), k_longest_special_token));
    tokens.texts[at] = text;
    tokens.types[at] = type;
    return {};
}

Status take_vocabulary(const TokenizerJson& model, NewTokens& tokens, const std::string& path) {
    const TokenizerJson* vocab = member(model, "vocab");
    if (!vocab || !vocab->is_object()) return wrong_json(path, "model.vocab is no object of tokens and ids");
    for (const auto& [text, id] : vocab->items())
        if (Status s = put(tokens, text, &id, TokenType::normal, path); !s) return s;
    return {};
}

Status take_added(const TokenizerJson& json, NewTokens& tokens, const std::string& path) {
    const TokenizerJson* added = member(json, "added_tokens");
    if (!added || !added->is_array()) return {};
    for (const TokenizerJson& token : *added) {
        const TokenizerJson* content = member(token, "content");
        const TokenizerJson* special = member(token, "special");
        if (!content || !content->is_string())
            return wrong_json(path, "an entry of added_tokens has no content");
        const bool control = special && special->is_boolean() && special->get<bool>();
        if (Status s = put(tokens, content->get<std::string>(), member(token, "id"),
                           control ? TokenType::control : TokenType::user_defined, path);
            !s)
            return s;
    }
    return {};
}

// "left right", or ["left", "right"]
Expected<std::vector<std::string>> merges_of(const TokenizerJson& model, const std::string& path) {
    const TokenizerJson* list = member(model, "merges");
    if (!list || !list->is_array()) return wrong_json(path, "model.merges is no list");
    std::vector<std::string> merges;
    for (const TokenizerJson& merge : *list) {
        std::string text;
        if (merge.is_string()) text = merge.get<std::string>();
        else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
            text = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
        const size_t space = text.find(' ', 1);
        if (text.empty() || space == std::string::npos || space + 1 == text.size())
            return wrong_json(path, fmt::format("model.merges[{}] is not two parts", merges.size()));
        merges.push_back(std::move(text));
    }
    return merges;
}

// Files are padded with tokens that no text has; what the model knows must be there.
Status check_count(const Vocabulary& v, const NewTokens& tokens, const std::string& path) {
    size_t n_new = 0, n_old = 0;
    for (int32_t id = 0; id < v.size(); id++) {
        n_new += tokens.types[static_cast<size_t>(id)] ? 1 : 0;
        n_old += v.type(id) != TokenType::unused && v.type(id) != TokenType::undefined ? 1 : 0;
    }
    if (n_new >= n_old) return {};
    return wrong_json(path, fmt::format("it has {} tokens, but the model's file uses {}", n_new, n_old));
}

}  // namespace

Status take_tokenizer_json(Vocabulary& vocabulary, std::string_view text, const std::string& path) {
    if (vocabulary.model != TokenizerModel::byte_bpe)
        return Error{
            Code::unsupported,
            fmt::format("{}: model.tokenizer is offered for byte-level BPE, and this model's is \"{}\"",
                        printable(path), printable(vocabulary.model_name)),
            "Leave the setting out: the file's own vocabulary is used."};
    const TokenizerJson json = TokenizerJson::parse(text, nullptr, false);
    const TokenizerJson* model = member(json, "model");
    if (!model) return wrong_json(path, "it is no tokenizer.json");
    const TokenizerJson* type = member(*model, "type");
    if (type && *type != "BPE")
        return wrong_json(path, fmt::format("its model is {}, not BPE", printable(type->dump())));
    const auto n = static_cast<size_t>(vocabulary.size());
    NewTokens tokens{std::vector<std::string>(n), std::vector<std::optional<TokenType>>(n)};
    if (Status s = take_vocabulary(*model, tokens, path); !s) return s;
    if (Status s = take_added(json, tokens, path); !s) return s;
    if (Status s = check_count(vocabulary, tokens, path); !s) return s;
    Expected<std::vector<std::string>> merges = merges_of(*model, path);
    if (!merges) return merges.error();
    for (size_t id = 0; id < n; id++) vocabulary.types[id] = tokens.types[id].value_or(TokenType::unused);
    vocabulary.tokens = StringList(tokens.texts);
    vocabulary.merges = StringList(*merges);
    return {};
}

}  // namespace ft
