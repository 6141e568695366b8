// SentencePiece BPE (tokenizer.ggml.model "llama"): the whole text is one unit; of all neighbours whose union
// is a token the pair of highest score joins, the leftmost of equals first.
#include <algorithm>
#include <functional>

#include "base/utf8.h"
#include "text/char_fallback.h"
#include "text/encoder.h"
#include "text/piece_cache.h"

namespace ft {

namespace {

// Which characters stand side by side inside any token. Between two that never do, no merge happens, so a
// text can be cut there and the parts merged alone: the same ids, from short pieces that repeat. Pairs are
// kept by hash; a collision only means a longer piece.
class Neighbours {
 public:
    Neighbours() : bits_(k_bits / 64) {}

    // A token that is no UTF-8 matches no text, so what it adds does not matter.
    void add(std::string_view token) {
        std::string_view last;
        while (!token.empty()) {
            const std::string_view next = token.substr(0, static_cast<size_t>(utf8_size(token[0])));
            if (!last.empty()) {
                const size_t bit = bit_of(last, next);
                bits_[bit / 64] |= uint64_t{1} << (bit % 64);
            }
            last = next;
            token.remove_prefix(next.size());
        }
    }

    // The size of the piece that `text` (not empty, valid UTF-8) begins with.
    size_t piece_size(std::string_view text) const {
        auto size = static_cast<size_t>(utf8_size(text[0]));
        std::string_view last = text.substr(0, size);
        while (size < text.size()) {
            const std::string_view next = text.substr(size, static_cast<size_t>(utf8_size(text[size])));
            const size_t bit = bit_of(last, next);
            if ((bits_[bit / 64] >> (bit % 64) & 1) == 0) break;
            size += next.size();
            last = next;
        }
        return size;
    }

 private:
    static constexpr size_t k_bits = size_t{1} << 22;

    static uint64_t packed(std::string_view character) {
        uint64_t value = 0;
        for (const char c : character) value = (value << 8) | static_cast<uint8_t>(c);
        return value;
    }
    static size_t bit_of(std::string_view left, std::string_view right) {
        return ((packed(left) << 32 | packed(right)) * 0x9E3779B97F4A7C15) >> 42;
    }

    std::vector<uint64_t> bits_;
};

// For each score how many different scores are higher.
std::vector<uint32_t> priorities_of(const std::vector<float>& scores) {
    std::vector<float> falling = scores;
    std::sort(falling.begin(), falling.end(), std::greater<>());
    falling.erase(std::unique(falling.begin(), falling.end()), falling.end());
    std::vector<uint32_t> priorities(scores.size());
    std::transform(scores.begin(), scores.end(), priorities.begin(), [&](float score) {
        return static_cast<uint32_t>(
            std::lower_bound(falling.begin(), falling.end(), score, std::greater<>()) - falling.begin());
    });
    return priorities;
}

class SentencePiece final : public Encoder {
 public:
    explicit SentencePiece(const Vocabulary& v)
        : vocabulary(v), index(merge_results(v)), fallback(v, index), priorities(priorities_of(v.scores)) {
        for (int32_t id = 0; id < v.size(); ++id) {
            if (v.type(id) != TokenType::normal && v.type(id) != TokenType::user_defined) continue;
            neighbours.add(v.text(id));
            longest = std::max(longest, v.text(id).size());
        }
    }

    std::unique_ptr<EncodeRun> start() const override;

    const Vocabulary& vocabulary;
    const TokenIndex index;
    const CharFallback fallback;
    Neighbours neighbours;
    std::vector<uint32_t> priorities;
    size_t longest = 0;  // token, in bytes
};

class SentencePieceRun final : public EncodeRun {
 public:
    explicit SentencePieceRun(const SentencePiece& tables)
        : tables_(tables), merger_(tables.vocabulary.tokens.size()) {}

    void encode(std::string_view text, std::vector<int32_t>& ids) override {
        std::string prefixed;
        if (tables_.vocabulary.add_space_prefix && !text.empty()) {
            prefixed.append(k_blank_mark).append(text);
            text = prefixed;
        }
        while (!text.empty()) {
            const std::string_view piece = text.substr(0, tables_.neighbours.piece_size(text));
            cache_.encode(piece, ids, [&] { encode_piece(piece, ids); });
            text.remove_prefix(piece.size());
        }
    }

 private:
    void encode_piece(std::string_view piece, std::vector<int32_t>& ids) {
        tables_.fallback.split(piece, merger_.symbols());
        merger_.merge([&](const Symbol& left, const Symbol& right) {
            const size_t size = size_t{left.size} + right.size;
            const int32_t id =
                size > tables_.longest ? -1 : tables_.index.find(piece.substr(left.begin, size));
            return id < 0 ? Join{} : Join{tables_.priorities[static_cast<size_t>(id)], id};
        });
        tables_.fallback.append(merger_.symbols(), piece, ids);
    }

    const SentencePiece& tables_;
    PieceCache cache_;
    Merger merger_;
};

std::unique_ptr<EncodeRun> SentencePiece::start() const { return std::make_unique<SentencePieceRun>(*this); }

}  // namespace

std::unique_ptr<Encoder> make_sentencepiece(const Vocabulary& vocabulary) {
    return std::make_unique<SentencePiece>(vocabulary);
}

}  // namespace ft
