// Byte-level BPE (tokenizer.ggml.model "gpt2"): the text is split by the pre-tokenizer's rule, and the bytes
// of each piece are merged.
#include <array>

#include "base/log.h"
#include "text/byte_alphabet.h"
#include "text/encoder.h"
#include "text/merge_table.h"
#include "text/nfc.h"
#include "text/piece_cache.h"
#include "text/pretokenizer.h"

namespace ft {

namespace {

TokenIndex index_of(const Vocabulary& vocabulary) {
    TokenIndex index(vocabulary.tokens, vocabulary.tokens.size());
    // A user-defined token may be spelt like a byte's letter; the letter is meant.
    for (const bool user_defined : {false, true})
        for (int32_t id = 0; id < vocabulary.size(); ++id) {
            const TokenType type = vocabulary.type(id);
            const bool skipped =
                type == TokenType::control || type == TokenType::unused || type == TokenType::unknown;
            if (!skipped && (type == TokenType::user_defined) == user_defined) index.add(id);
        }
    return index;
}

class ByteBpe final : public Encoder {
 public:
    explicit ByteBpe(const Vocabulary& vocabulary)
        : rule(*vocabulary.rule),
          index(index_of(vocabulary)),
          merges(vocabulary, index),
          n_merges(vocabulary.merges.size()),
          pretokenizer(rule) {
        int lost = 0;
        for (int byte = 0; byte < 256; ++byte) {
            std::string letter;
            append_utf8_letter(letter, static_cast<uint8_t>(byte));
            const int32_t id = index.find(letter);
            // Bytes from F5 on are in no text.
            if (id < 0 && byte < 0xF5 && byte != 0xC0 && byte != 0xC1) ++lost;
            byte_ids[static_cast<size_t>(byte)] = id >= 0 ? id : vocabulary.unknown_id;
        }
        if (lost > 0)
            log("warn", "the vocabulary has no token for {} byte values: text with them {}", lost,
                vocabulary.unknown_id >= 0 ? "becomes the unknown token" : "is left out");
    }

    std::unique_ptr<EncodeRun> start() const override;

    const PretokenizerRule& rule;
    const TokenIndex index;
    const MergeTable merges;
    const size_t n_merges;
    const Pretokenizer pretokenizer;
    std::array<int32_t, 256> byte_ids{};

 private:
    static void append_utf8_letter(std::string& out, uint8_t byte) {
        const char c = static_cast<char>(byte);
        append_letters(out, {&c, 1});
    }
};

class ByteBpeRun final : public EncodeRun {
 public:
    explicit ByteBpeRun(const ByteBpe& tables)
        : tables_(tables), splitter_(tables.pretokenizer), merger_(tables.n_merges) {}

    void encode(std::string_view text, std::vector<int32_t>& ids) override {
        std::string composed;
        if (tables_.rule.nfc && !surely_nfc(text)) {
            composed = to_nfc(text);
            text = composed;
        }
        splitter_.split(text, [&](std::string_view piece) {
            if (piece.size() == 1) return append(byte_id(piece[0]), ids);
            cache_.encode(piece, ids, [&] { encode_piece(piece, ids); });
        });
    }

 private:
    int32_t byte_id(char byte) const { return tables_.byte_ids[static_cast<uint8_t>(byte)]; }

    static void append(int32_t id, std::vector<int32_t>& ids) {
        if (id >= 0) ids.push_back(id);
    }

    void encode_piece(std::string_view piece, std::vector<int32_t>& ids) {
        if (tables_.rule.ignore_merges) {
            letters_.clear();
            append_letters(letters_, piece);
            if (const int32_t id = tables_.index.find(letters_); id >= 0) return ids.push_back(id);
        }
        std::vector<Symbol>& symbols = merger_.symbols();
        symbols.clear();
        for (size_t i = 0; i < piece.size(); ++i)
            symbols.push_back({.begin = static_cast<uint32_t>(i), .size = 1, .id = byte_id(piece[i])});
        merger_.merge([&](const Symbol& l, const Symbol& r) { return tables_.merges.find(l.id, r.id); });
        for (int32_t i = 0; i >= 0; i = symbols[static_cast<size_t>(i)].next)
            append(symbols[static_cast<size_t>(i)].id, ids);
    }

    const ByteBpe& tables_;
    Splitter splitter_;
    PieceCache cache_;
    Merger merger_;
    std::string letters_;
};

std::unique_ptr<EncodeRun> ByteBpe::start() const { return std::make_unique<ByteBpeRun>(*this); }

}  // namespace

std::unique_ptr<Encoder> make_byte_bpe(const Vocabulary& vocabulary) {
    return std::make_unique<ByteBpe>(vocabulary);
}

}  // namespace ft
