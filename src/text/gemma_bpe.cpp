// The BPE of tokenizer.ggml.model "gemma4": merges on characters, U+2581 for blanks, text split only into
// runs of line feeds and runs of anything else. A run of line feeds that is a token is taken whole.
#include "text/char_fallback.h"
#include "text/encoder.h"
#include "text/merge_table.h"
#include "text/piece_cache.h"

namespace ft {

namespace {

class GemmaBpe final : public Encoder {
 public:
    explicit GemmaBpe(const Vocabulary& v)
        : vocabulary(v), index(merge_results(v)), merges(v, index), fallback(v, index) {}

    std::unique_ptr<EncodeRun> start() const override;

    const Vocabulary& vocabulary;
    const TokenIndex index;
    const MergeTable merges;
    const CharFallback fallback;
};

class GemmaBpeRun final : public EncodeRun {
 public:
    explicit GemmaBpeRun(const GemmaBpe& tables)
        : tables_(tables), merger_(tables.vocabulary.merges.size()) {}

    void encode(std::string_view text, std::vector<int32_t>& ids) override {
        std::string prefixed;
        if (tables_.vocabulary.add_space_prefix && !text.empty()) {
            prefixed.append(k_blank_mark).append(text);
            text = prefixed;
        }
        while (!text.empty()) {
            const size_t end = text[0] == '\n' ? text.find_first_not_of('\n') : text.find('\n');
            const std::string_view piece = text.substr(0, end);
            cache_.encode(piece, ids, [&] { encode_piece(piece, ids); });
            text.remove_prefix(piece.size());
        }
    }

 private:
    void encode_piece(std::string_view piece, std::vector<int32_t>& ids) {
        if (piece[0] == '\n')
            if (const int32_t id = tables_.index.find(piece); id >= 0) return ids.push_back(id);
        tables_.fallback.split(piece, merger_.symbols());
        merger_.merge([&](const Symbol& l, const Symbol& r) { return tables_.merges.find(l.id, r.id); });
        tables_.fallback.append(merger_.symbols(), piece, ids);
    }

    const GemmaBpe& tables_;
    PieceCache cache_;
    Merger merger_;
};

std::unique_ptr<EncodeRun> GemmaBpe::start() const { return std::make_unique<GemmaBpeRun>(*this); }

}  // namespace

std::unique_ptr<Encoder> make_gemma_bpe(const Vocabulary& vocabulary) {
    return std::make_unique<GemmaBpe>(vocabulary);
}

}  // namespace ft
