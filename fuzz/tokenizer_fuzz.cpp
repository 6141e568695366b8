// Any bytes as a vocabulary, where they begin like a GGUF file; else as a text, under the split rule that the
// first byte chooses. Loading ends in a tokenizer or an error; a text comes back from its ids.
#include <string>
#include <vector>

#include "base/utf8.h"
#include "text/nfc.h"
#include "text/pretokenizer_rules.h"
#include "text/text_stream.h"
#include "text/vocabulary_for_test.h"

namespace {

const std::string k_some_text =
    "The quick <s> fox\n\n  1234 \xE4\xBD\xA0\xE5\xA5\xBD e\xCC\x81 </s> \xF0\x9F\x99\x82 aaaa";

void use(const ft::Tokenizer& tokenizer, const std::string& text) {
    const std::vector<int32_t> ids = tokenizer.encode(text, {.special = true, .add_special = true});
    for (const int32_t id : ids)
        ft::check(id >= 0 && id < tokenizer.vocab_size(), "ids are inside the vocabulary");
    std::string streamed;
    ft::TextStream stream(tokenizer, true);
    for (const int32_t id : ids) streamed += stream.push(id);
    streamed += stream.finish();
    ft::check(streamed == ft::mend_utf8(tokenizer.decode(ids)), "a stream gives what decode() gives");
}

void try_vocabulary(const std::string& bytes) {
    const auto file = ft::open_in_memory(bytes);
    if (!file) return;
    const auto tokenizer = ft::Tokenizer::load(*file);
    if (!tokenizer) return ft::check(!tokenizer.error().what.empty(), "an error has a sentence");
    use(**tokenizer, k_some_text);
    for (int32_t id = 0; id < std::min((*tokenizer)->vocab_size(), 1000); ++id) {
        const int32_t ids[] = {id};
        (void)(*tokenizer)->decode(ids);
        (void)(*tokenizer)->is_end(id);
        use(**tokenizer, (*tokenizer)->token_text(id));
    }
}

// One tokenizer for each rule, and a SentencePiece one.
std::vector<std::unique_ptr<ft::Tokenizer>> small_tokenizers() {
    std::vector<std::unique_ptr<ft::Tokenizer>> all;
    ft::TestVocabulary bytes = ft::byte_vocabulary();
    for (const char* pair : {"th", "in", "  ", "\n\n", "aa", "12", "\xE4\xBD"})
        bytes.merge(std::string(pair, 1), std::string(pair + 1, 1));
    bytes.merge("th", "in");
    bytes.merge("aa", "aa");
    bytes.add("<s>", ft::TokenType::control);
    bytes.add("<think>", ft::TokenType::user_defined);
    for (const ft::PretokenizerRule& rule : ft::pretokenizer_rules()) {
        const std::string names = rule.names;
        all.push_back(std::move(*ft::load_byte_bpe(bytes, names.substr(0, names.find(' ')))));
    }
    ft::TestVocabulary pieces = ft::sentencepiece_vocabulary();
    for (const char* text : {"\xE2\x96\x81", "a", "b", "aa",
                             "\xE2\x96\x81"
                             "a",
                             "aaaa", "ab", "\xE4\xBD\xA0"})
        pieces.add(text, ft::TokenType::normal, -static_cast<float>(pieces.tokens.size()));
    all.push_back(std::move(*ft::load_tokenizer(pieces.writer())));
    return all;
}

void try_text(const ft::Tokenizer& tokenizer, const std::string& text) {
    use(tokenizer, text);
    const std::string back = ft::mend_utf8(tokenizer.decode(tokenizer.encode(text)));
    const std::string mended = ft::mend_utf8(text);
    if (tokenizer.model_name() == "llama") return;  // blanks and their marks are one thing there
    const bool composes = ft::find_pretokenizer(tokenizer.pre_name())->nfc;
    if (!composes) ft::check(back == mended, "a text comes back from its ids");
    // Special tokens cut the text before it is composed, so only texts without them compare.
    if (composes && mended.find('<') == std::string::npos)
        ft::check(back == ft::to_nfc(mended), "a text comes back composed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const auto tokenizers = small_tokenizers();
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.starts_with("GGUF")) {
        try_vocabulary(bytes);
    } else if (!bytes.empty()) {
        try_text(*tokenizers[static_cast<uint8_t>(bytes[0]) % tokenizers.size()], bytes.substr(1));
    }
    return 0;
}
