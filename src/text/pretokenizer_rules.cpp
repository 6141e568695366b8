#include "text/pretokenizer_rules.h"

#include <algorithm>

#include "text/digit_groups.h"

namespace ft {

namespace {

constexpr const char* k_llama3 =
    R"(<C>|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char* k_qwen2 =
    R"(<C>|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char* k_qwen35 =
    R"(<C>|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char* k_gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr const char* k_gpt4o = R"([^\r\n\p{L}\p{N}]?<U>*<L>+<C>?|[^\r\n\p{L}\p{N}]?<U>+<L>*<C>?|\p{N}{1,3})"
                                R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char* k_gpt4o_single_digits =
    R"([^\r\n\p{L}\p{N}]?<U>*<L>+<C>?|[^\r\n\p{L}\p{N}]?<U>+<L>*<C>?|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char* k_tekken = R"([^\r\n\p{L}\p{N}]?<U>*<L>+|[^\r\n\p{L}\p{N}]?<U>+<L>*|\p{N})"
                                 R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// U and L without the Han script, as classes of what they leave out: a lookahead at every letter would need
// stack for every letter. \p{sc:Han}, because \p{Han} means script extensions and takes the punctuation too.
constexpr const char* k_kimi_k2 = R"(\p{sc:Han}+)"
                                  R"(|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]*)"
                                  R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]+<C>?)"
                                  R"(|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]+)"
                                  R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}]*<C>?)"
                                  R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char* k_han_kana = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";

constexpr const char* k_deepseek_v3 =
    R"(<ASCII-P>[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Cased letters, as the publisher lists them.
constexpr const char* k_deepseek_llm_words =
    R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
    R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5})"
    R"(\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a})"
    R"(\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b})"
    R"(\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc})"
    R"(\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107})"
    R"(\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134})"
    R"(\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4})"
    R"(\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787})"
    R"(\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a})"
    R"(\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2})"
    R"(\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+)";

constexpr const char* k_deepseek_llm_marks =
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)";

// The published \s+$, which would try every start of every run; a run is tried once.
constexpr const char* k_trailing_space = R"((?<!\s)\s++\z)";

constexpr const char* k_deepseek_cjk = R"([\x{4e00}-\x{9fa5}\x{0800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";

constexpr const char* k_bailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";

constexpr const char* k_seed_coder =
    R"(<C>|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Words joined by single spaces. Nothing follows the groups, so none of them ever gives back: they are
// possessive, and long texts need no stack.
constexpr const char* k_exaone_moe =
    R"(<C>|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";

// Han, compatibility Han, kana, half-width kana, radicals; Thai (from U+0E40), Lao, Khmer,
// Burmese; hangul.
constexpr const char* k_afmoe_scripts =
    R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{f900}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff}\x{ff65}-\x{ff9f})"
    R"(\x{2f00}-\x{2fdf}\x{e40}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff}\x{1000}-\x{109f}\x{aa60}-\x{aa7f})"
    R"(\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)";

constexpr const char* k_minicpm5 =
    R"(<C>|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Hangul; CJK punctuation; bopomofo; Han and kana.
constexpr const char* k_youtu_scripts =
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+)"
    R"(|[\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c}\x{3001}-\x{303f})"
    R"(\x{fe30}-\x{fe4f}]+)"
    R"(|[\x{3105}-\x{312f}]+)"
    R"(|[\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)";

constexpr const char* k_no_sentence_marks =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{0964}\x{06d4}\x{060c})]+)";

constexpr const char* k_digit = R"(\p{N})";
constexpr const char* k_three_digits = R"(\p{N}{1,3})";
constexpr const char* k_ascii_threes = R"([0-9][0-9][0-9])";

constexpr PretokenizerRule k_rules[] = {
    {.names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2",
     .steps = {{k_llama3}},
     .ignore_merges = true,
     .adds_bos = true},
    {.names = "dbrx smaug-bpe glm4 chatglm-bpe", .steps = {{k_llama3}}},
    {.names = "qwen2 deepseek-r1-qwen f2llmv2", .steps = {{k_qwen2}}, .nfc = true},
    {.names = "megrez hunyuan stablelm2 kormo solar-open grok-2", .steps = {{k_qwen2}}},
    {.names = "qwen35", .steps = {{k_qwen35}}, .nfc = true},
    {.names =
         "gpt-2 phi-2 olmo gigachat exaone4 mellum jais mpt trillion granite-docling a.x-4.0 modern-bert",
     .steps = {{k_gpt2}}},
    {.names = "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
     .steps = {{k_digit}, {k_gpt2}}},
    {.names = "gpt-4o llama4 kanana2 minimax-m2", .steps = {{k_gpt4o}}, .ignore_merges = true},
    {.names = "tekken", .steps = {{k_tekken}}, .ignore_merges = true, .adds_bos = true},
    {.names = "kimi-k2", .steps = {{k_kimi_k2}}},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
     .steps = {{k_three_digits}, {k_han_kana}, {k_deepseek_v3}}},
    {.names = "deepseek-llm",
     .steps = {{R"([\r\n])"},
               {k_deepseek_llm_words},
               {k_deepseek_llm_marks},
               {k_trailing_space},
               {k_deepseek_cjk},
               {k_digit}}},
    {.names = "deepseek-coder",
     .steps = {{R"([\r\n])"}, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, {k_deepseek_cjk}, {k_digit}}},
    {.names = "bailingmoe bailingmoe2 llada-moe", .steps = {{k_bailing}}},
    {.names = "seed-coder", .steps = {{k_seed_coder}}},
    {.names = "tiny_aya cohere2moe", .steps = {{.search = digit_groups_before_a_word_end}, {k_gpt4o}}},
    {.names = "exaone-moe", .steps = {{k_exaone_moe}}},
    {.names = "afmoe", .steps = {{.search = digit_groups}, {k_afmoe_scripts}, {k_deepseek_v3}}},
    {.names = "laguna", .steps = {{R"([^\n]+|\n+)"}, {k_qwen2}}},
    {.names = "minicpm5", .steps = {{k_three_digits}, {k_minicpm5}}, .ignore_merges = true},
    {.names = "youtu", .steps = {{k_youtu_scripts}, {k_gpt4o_single_digits}}, .ignore_merges = true},
    {.names = "falcon", .steps = {{R"([\p{P}\$\+<=>\^~\|`]+)"}, {k_gpt2}, {k_ascii_threes}}},
    {.names = "viking", .steps = {{k_no_sentence_marks}, {k_digit}}},
    {.names = "poro-chat bloom gpt3-finnish", .steps = {{k_no_sentence_marks}}},
    {.names = "default",
     .steps = {{R"([\p{P}\$\+<=>\^~\|]+)"}, {k_gpt2}, {R"(\p{N}+)"}, {k_ascii_threes}},
     .lossy = true},
};

// Calls visit(name) for each name of a row until it returns true.
template <class Visit>
bool any_name(const PretokenizerRule& rule, Visit visit) {
    std::string_view rest = rule.names;
    while (!rest.empty()) {
        const size_t end = std::min(rest.find(' '), rest.size());
        if (visit(rest.substr(0, end))) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

}  // namespace

std::span<const PretokenizerRule> pretokenizer_rules() { return k_rules; }

const PretokenizerRule* find_pretokenizer(std::string_view name) {
    for (const PretokenizerRule& rule : k_rules)
        if (any_name(rule, [&](std::string_view known) { return known == name; })) return &rule;
    return nullptr;
}

std::string pretokenizer_names() {
    std::string names;
    for (const PretokenizerRule& rule : k_rules) (names += names.empty() ? "" : " ") += rule.names;
    return names;
}

}  // namespace ft
