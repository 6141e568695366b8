#include "config/keys.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "config/sampling_keys.h"
#include "config/server_keys.h"

namespace ft {

namespace {

constexpr Key k_first_keys[] = {
    {.section = "model",
     .name = "path",
     .kind = Kind::path,
     .help = "the model's GGUF file, of a split model any part; or a name of `freetoken list`. The argument "
             "MODEL "
             "comes before it",
     .example = "~/models/model-q4_k_m.gguf"},
    {.section = "model",
     .name = "quant",
     .kind = Kind::text,
     .use = Use::loading,
     .help = "how the file is expected to be quantised; another file is used all the same, with a warning",
     .example = "q4_k_m"},
    {.section = "model",
     .name = "keep_fp16_layers",
     .kind = Kind::list,
     .use = Use::loading,
     .help = "layers that are expected to have 16 bits and more in the file (router, norm, embed); "
             "where they "
             "have less, a warning says so",
     .example = R"(["router", "norm", "embed"])"},
    {.section = "model",
     .name = "tokenizer",
     .kind = Kind::path,
     .use = Use::loading,
     .help = "the tokenizer.json of the model's makers, to use in place of the vocabulary in the file",
     .example = "~/models/tokenizer.json"},
    {.section = "model",
     .name = "store",
     .kind = Kind::path,
     .use = Use::loading,
     .fallback = "auto",
     .help = "the folder that `freetoken pull` puts models in; they are called by name, from `freetoken "
             "list`. auto is "
             "$XDG_DATA_HOME/freetoken/models, else ~/.local/share/freetoken/models",
     .example = "/nvme/models",
     .is_folder = true},
    {.section = "model",
     .name = "template",
     .kind = Kind::path,
     .flag = "--template",
     .value_name = "FILE",
     .help = "a chat template to use in place of the model's own: in Jinja, or in Go's template language as "
             "Ollama has it",
     .example = "~/models/chat.jinja"},
    {.section = "model",
     .name = "template_text",
     .kind = Kind::text,
     .help = "the text of such a template, where it lies in no file of its own: the TEMPLATE of a Modelfile. "
             "model.template is stronger",
     .example = "\"{{ .Prompt }} {{ .Response }}\""},

    {.section = "model",
     .name = "served_model_name",
     .kind = Kind::text,
     .use = Use::serving,
     .flag = "--served-model-name",
     .value_name = "NAME",
     .help = "the name that a server's answers and lists carry; without one it is that of `freetoken list`, "
             "where the model was given by it, else the file's, less .gguf. Requests may use any name",
     .example = "local-moe"},

    {.section = "memory",
     .name = "ram_budget",
     .kind = Kind::number,
     .use = Use::loading,
     .least = 0.001,
     .most = 1 << 20,
     .fallback = "auto",
     .flag = "--ram",
     .value_name = "GIB",
     .help = "RAM in GiB that the model may take in all; what does not fit is read from the drive as it is "
             "needed. "
             "auto leaves 30 % of all RAM to others and never takes more than is available",
     .example = "8",
     .unit = "GiB"},
    {.section = "memory",
     .name = "cpu_offload",
     .kind = Kind::boolean,
     .use = Use::loading,
     .fallback = "true",
     .help =
         "experts may lie in RAM and on the drive; false refuses a model whose experts do not all fit a card",
     .example = "true"},
    {.section = "memory",
     .name = "swap_dir",
     .kind = Kind::path,
     .use = Use::loading,
     .help =
         "a folder for a copy of the experts, where its drive is measured to be faster than the model's and "
         "RAM cannot hold them all; on the model's own drive nothing is copied",
     .example = "/nvme/swap",
     .is_folder = true},
    {.section = "memory",
     .name = "expert_policy",
     .kind = Kind::choice,
     .use = Use::loading,
     .choices = "lru|lru-layer|lfu|lfru|static",
     .fallback = "lfu",
     .help = "which expert makes room for another: the one unused longest, of all layers or (lru-layer) of "
             "layers that have more than an equal share; the one least used lately, the one with the worst "
             "ratio of both, or "
             "none of the hottest. No answer depends on it",
     .example = "lfu"},
    {.section = "memory",
     .name = "prefetch",
     .kind = Kind::boolean,
     .use = Use::loading,
     .fallback = "auto",
     .help = "read while the drive is idle: into free slots before the first prompt, and what the next layer "
             "will "
             "likely ask for, as long as that pays; auto is the same as true",
     .example = "true"},
    {.section = "memory",
     .name = "warm_start",
     .kind = Kind::boolean,
     .use = Use::loading,
     .fallback = "true",
     .help = "read the experts that were used most in earlier runs of the model first",
     .example = "true"},
    {.section = "memory",
     .name = "gpu_vram_budget",
     .kind = Kind::number,
     .use = Use::loading,
     .least = 0.001,
     .most = 1 << 20,
     .fallback = "auto",
     .help = "memory of the card in GiB for weights and KV cache, the driver's own not counted; auto aims at "
             "85 % of "
             "the card. This version computes on the CPU, so that only `plan --vram` looks at it",
     .example = "5.2",
     .unit = "GiB"},
    {.section = "memory",
     .name = "gpu_expert_capacity",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 0,
     .most = 1 << 20,
     .fallback = "auto",
     .help =
         "experts of each layer that may be on the card at once; auto is what the budget has room for. This "
         "version computes on the CPU, so that only `plan --vram` looks at it",
     .example = "4"},

    {.section = "kv_cache",
     .name = "max_context",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 1,
     .most = 1 << 30,
     .fallback = "auto",
     .flag = "--ctx",
     .value_name = "N",
     .help = "tokens that prompt and answer may have together; auto is the smaller of the model's and 8192",
     .example = "8192",
     .unit = "tokens"},
    {.section = "kv_cache",
     .name = "quant",
     .kind = Kind::choice,
     .use = Use::loading,
     .choices = "f16|int8|q8_0|int4|q4_0|fp8",
     .fallback = "f16",
     .help = "how keys and values are stored: f16, int8 (q8_0, about half the memory), int4 (q4_0, about a "
             "quarter, less exact); fp8 is taken as int8",
     .example = "f16"},
    {.section = "kv_cache",
     .name = "quant_k",
     .kind = Kind::choice,
     .use = Use::loading,
     .choices = "f16|int8|q8_0|int4|q4_0|fp8",
     .fallback = "auto",
     .help = "the same for keys alone; auto is what kv_cache.quant says",
     .example = "int8"},
    {.section = "kv_cache",
     .name = "quant_v",
     .kind = Kind::choice,
     .use = Use::loading,
     .choices = "f16|int8|q8_0|int4|q4_0|fp8",
     .fallback = "auto",
     .help = "the same for values alone; auto is what kv_cache.quant says",
     .example = "int4"},
    {.section = "kv_cache",
     .name = "sliding_window",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 0,
     .most = 1 << 30,
     .fallback = "0",
     .help = "a token attends to so many tokens before it, itself included, and the memory of older ones is "
             "used again; lossy. 0 is all",
     .example = "4096",
     .unit = "tokens"},
    {.section = "kv_cache",
     .name = "sink_tokens",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 0,
     .most = 1 << 20,
     .fallback = "4",
     .help = "the first tokens of a conversation, which stay in sight however far the window has moved on",
     .example = "4",
     .unit = "tokens"},
    {.section = "kv_cache",
     .name = "auto_evict",
     .kind = Kind::boolean,
     .use = Use::loading,
     .fallback = "false",
     .help = "an answer that fills the context goes on and forgets the oldest tokens, the first sink_tokens "
             "excepted; a chat that is longer than the context loses its oldest turns after the system "
             "prompt; lossy",
     .example = "true"},
    {.section = "kv_cache",
     .name = "pool_tokens",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 1,
     .most = int64_t{1} << 40,
     .fallback = "auto",
     .help = "tokens that all sequences together have memory for; auto is max_context for each of "
             "inference.batch_size, with a window that, sink_tokens and one step",
     .example = "65536",
     .unit = "tokens"},
    {.section = "kv_cache",
     .name = "overcommit",
     .kind = Kind::boolean,
     .use = Use::loading,
     .fallback = "false",
     .help = "a request may start before memory for its longest answer is free; where memory runs out, the "
             "youngest sequence of the batch lane waits and goes on later",
     .example = "true"},
    {.section = "kv_cache",
     .name = "prefix_cache",
     .kind = Kind::number,
     .use = Use::loading,
     .least = 0,
     .most = 1 << 20,
     .fallback = "auto",
     .help = "GiB of the pool that may keep the beginnings of earlier requests; auto is all that no running "
             "one needs, 0 keeps none",
     .example = "2",
     .unit = "GiB"},
    {.section = "kv_cache",
     .name = "state_checkpoints",
     .kind = Kind::number,
     .use = Use::loading,
     .least = 0,
     .most = 1 << 20,
     .fallback = "0.25",
     .help = "GiB of RAM for states of recurrent layers at the ends of messages, from which an edited "
             "conversation goes on; used by models that have such layers",
     .example = "0.5",
     .unit = "GiB"},
    {.section = "kv_cache",
     .name = "park_dir",
     .kind = Kind::path,
     .use = Use::loading,
     .help = "a folder for sequences that wait because memory ran out; without one they stay in RAM where "
             "memory.ram_budget leaves room, else they are read again",
     .example = "/nvme/park",
     .is_folder = true},

    {.section = "inference",
     .name = "threads",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 1,
     .most = 1024,
     .fallback = "auto",
     .flag = "--threads",
     .value_name = "N",
     .help = "threads that compute; auto is one for each physical core. The flag takes 0 and -1 as auto, as "
             "llama.cpp's programs do",
     .example = "8"},
    {.section = "inference",
     .name = "max_tokens",
     .kind = Kind::integer,
     .least = 1,
     .most = std::numeric_limits<int32_t>::max(),
     .fallback = "auto",
     .flag = "--max-tokens",
     .value_name = "N",
     .help = "tokens of an answer at most; auto is what the context has room for",
     .example = "512",
     .unit = "tokens"},
    {.section = "inference",
     .name = "batch_size",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 1,
     .most = 256,
     .fallback = "auto",
     .help = "sequences that run together, of both lanes; further requests wait. auto is 4 for batch and "
             "serve, 1 for all else",
     .example = "4"},
    {.section = "inference",
     .name = "interactive_slots",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 0,
     .most = 255,
     .fallback = "auto",
     .help = "of batch_size, how many only interactive requests may take; less than batch_size. auto is the "
             "smaller of 2 and batch_size - 1",
     .example = "2"},
    {.section = "inference",
     .name = "step_tokens",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 1,
     .most = 1 << 16,
     .fallback = "auto",
     .help = "tokens of prompts and answers that are computed together at most; auto is what the plan of "
             "memory says",
     .example = "256",
     .unit = "tokens"},
    {.section = "inference",
     .name = "step_ms",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 1,
     .most = 3600000,
     .fallback = "250",
     .help = "while others answer, a step takes so much of a long prompt that it lasts no longer than this",
     .example = "250",
     .unit = "milliseconds"},
    {.section = "inference",
     .name = "top_k_experts",
     .kind = Kind::integer,
     .use = Use::loading,
     .least = 1,
     .most = 1 << 16,
     .fallback = "auto",
     .help = "experts that a token uses in each layer; auto is the model's own number, fewer are faster and "
             "worse",
     .example = "6"},
    {.section = "inference",
     .name = "flash_attn",
     .kind = Kind::boolean,
     .use = Use::loading,
     .fallback = "auto",
     .help = "accepted so that configurations of other programs work; attention is always of that kind",
     .example = "true"},
    {.section = "inference",
     .name = "system",
     .kind = Kind::text,
     .flag = "--system",
     .value_name = "TEXT",
     .help = "the system prompt: what the model is told before the conversation",
     .example = "Answer briefly."},
    {.section = "inference",
     .name = "think",
     .kind = Kind::choice,
     .choices = "on|off|hide",
     .fallback = "auto",
     .flag = "--think",
     .value_name = "HOW",
     .help = "thinking of a reasoning model: on asks for it and shows it, off does not ask for it, hide asks "
             "for it and hides it; auto leaves it to the model's template and shows it dimmed on a terminal",
     .example = "hide"},
};

// The rows of a section stand together, whichever list they are in.
template <size_t... N>
constexpr auto joined(const Key (&... lists)[N]) {
    std::array<Key, (N + ...)> all{};
    size_t at = 0;
    (std::copy(std::begin(lists), std::end(lists), all.begin() + std::exchange(at, at + N)), ...);
    return all;
}

constexpr auto k_keys = joined(k_first_keys, k_sampling_keys, k_server_keys);

}  // namespace

std::span<const Key> keys() { return k_keys; }

std::string dotted(const Key& key) { return fmt::format("{}.{}", key.section, key.name); }

std::string environment_name(const Key& key) {
    std::string name = fmt::format("FREETOKEN_{}_{}", key.section, key.name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return name;
}

bool takes_auto(const Key& key) {
    return std::string_view(key.fallback) == "auto" || !std::string_view(key.model_key).empty();
}

std::string default_text(const Key& key) {
    const std::string_view fallback = key.fallback;
    if (!std::string_view(key.model_key).empty()) return fmt::format("the model's own, else {}", fallback);
    return fallback.empty() ? "none" : std::string(fallback);
}

const Key* find_key(std::string_view dotted_name) {
    const auto found = std::find_if(std::begin(k_keys), std::end(k_keys),
                                    [&](const Key& key) { return dotted(key) == dotted_name; });
    return found == std::end(k_keys) ? nullptr : &*found;
}

bool is_section(std::string_view name) {
    return std::any_of(std::begin(k_keys), std::end(k_keys),
                       [&](const Key& key) { return key.section == name; });
}

std::vector<std::string> section_names() {
    std::vector<std::string> names;
    for (const Key& key : k_keys)
        if (names.empty() || names.back() != key.section) names.emplace_back(key.section);
    return names;
}

std::vector<std::string> key_names(std::string_view section) {
    std::vector<std::string> names;
    for (const Key& key : k_keys)
        if (key.section == section) names.emplace_back(key.name);
    return names;
}

}  // namespace ft
