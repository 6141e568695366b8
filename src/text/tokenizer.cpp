#include "text/tokenizer.h"

#include <algorithm>

#include "base/check.h"
#include "base/read_text.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"
#include "text/char_fallback.h"
#include "text/end_tokens.h"
#include "text/token_trie.h"
#include "text/tokenizer_json.h"

namespace ft {

namespace {

constexpr uint64_t k_largest_tokenizer_json = uint64_t{256} << 20;

std::unique_ptr<Encoder> make_encoder(const Vocabulary& vocabulary) {
    switch (vocabulary.model) {
        case TokenizerModel::sentencepiece:
            return make_sentencepiece(vocabulary);
        case TokenizerModel::gemma_bpe:
            return make_gemma_bpe(vocabulary);
        case TokenizerModel::byte_bpe:
            break;
    }
    return make_byte_bpe(vocabulary);
}

SpecialTokens special_tokens(const Vocabulary& v, bool control) {
    std::vector<std::pair<std::string, int32_t>> tokens;
    for (int32_t id = 0; id < v.size(); ++id) {
        const TokenType type = v.type(id);
        const bool matches = type == TokenType::user_defined ||
                             (control && (type == TokenType::control || type == TokenType::unknown));
        if (!matches) continue;
        // Blanks of the text are marks by the time it is searched.
        tokens.emplace_back(
            v.model == TokenizerModel::byte_bpe ? std::string(v.text(id)) : mark_blanks(v.text(id)), id);
    }
    return SpecialTokens(std::move(tokens));
}

}  // namespace

Expected<std::unique_ptr<Tokenizer>> Tokenizer::load(const Gguf& file, const std::string& tokenizer_json) {
    auto vocabulary = read_vocabulary(file);
    if (!vocabulary) return vocabulary.error();
    if (!tokenizer_json.empty()) {
        const Expected<std::string> text = read_text(tokenizer_json, k_largest_tokenizer_json);
        if (!text) return text.error().within("model.tokenizer");
        if (Status s = take_tokenizer_json(*vocabulary, *text, tokenizer_json); !s) return s.error();
    }
    return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(*vocabulary)));
}

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), end_ids_(end_tokens(vocabulary_)) {}

Tokenizer::~Tokenizer() = default;

const Tokenizer::Tables& Tokenizer::tables() const {
    std::call_once(tables_built_, [&] {
        tables_.encoder = make_encoder(vocabulary_);
        tables_.always = special_tokens(vocabulary_, false);
        tables_.parsed = special_tokens(vocabulary_, true);
    });
    return tables_;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
    check(text.size() <= (size_t{1} << 30), "a text of over 1 GiB to tokenize");
    std::vector<int32_t> ids;
    if (options.add_special && vocabulary_.add_bos) ids.push_back(vocabulary_.bos_id);
    const Tables& t = tables();
    std::string mended, marked;
    if (!is_utf8(text)) text = mended = mend_utf8(text);
    if (marks_blanks()) text = marked = mark_blanks(text);
    const SpecialTokens& special = options.special ? t.parsed : t.always;
    const std::unique_ptr<EncodeRun> run = t.encoder->start();
    size_t done = 0;
    for (auto match = special.find(text, 0); match.id >= 0; match = special.find(text, done)) {
        run->encode(text.substr(done, match.begin - done), ids);
        ids.push_back(match.id);
        done = match.end;
    }
    run->encode(text.substr(done), ids);
    if (options.add_special && vocabulary_.add_eos) ids.push_back(vocabulary_.eos_id);
    return ids;
}

void Tokenizer::append_bytes(int32_t id, bool show_special, std::string& out) const {
    if (!known(id)) return;
    const std::string_view text = vocabulary_.text(id);
    const TokenType type = vocabulary_.type(id);
    switch (type) {
        case TokenType::unused:
            return;
        case TokenType::control:
        case TokenType::unknown:
            if (show_special) out += text;
            return;
        case TokenType::byte:
            if (const auto byte = byte_token_value(text)) {
                out.push_back(static_cast<char>(*byte));
                return;
            }
            break;
        default:
            break;
    }
    if (marks_blanks()) return append_unmarked(out, text);
    if (type == TokenType::user_defined) {
        out += text;
    } else {
        append_bytes_of_letters(out, text);
    }
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool show_special) const {
    std::string out;
    for (const int32_t id : ids) append_bytes(id, show_special, out);
    if (strips_leading_blank() && out.starts_with(' ')) out.erase(0, 1);
    return out;
}

bool Tokenizer::may_be_text(int32_t id) const {
    const std::string_view text = vocabulary_.text(id);
    const bool is_mark =
        vocabulary_.type(id) == TokenType::user_defined && text.starts_with('<') && text.ends_with('>');
    return !is_mark && !is_end(id);
}

const TokenTrie& Tokenizer::trie() const {
    std::call_once(trie_built_, [&] {
        std::vector<std::string> texts(static_cast<size_t>(vocab_size()));
        for (int32_t id = 0; id < vocab_size(); id++)
            if (may_be_text(id)) append_bytes(id, false, texts[static_cast<size_t>(id)]);
        trie_ = std::make_unique<const TokenTrie>(texts);
    });
    return *trie_;
}

bool Tokenizer::is_end(int32_t id) const { return std::binary_search(end_ids_.begin(), end_ids_.end(), id); }

std::string Tokenizer::token_text(int32_t id) const {
    return known(id) ? std::string(vocabulary_.text(id)) : std::string();
}

}  // namespace ft
