#include "cli/foreign_flags.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace ft::cli {

namespace {

// What becomes of a foreign flag.
enum class Turn {
    flag,     // our flag `to`, with the value
    setting,  // --set to=value
    fixed,    // --set to, which has its value
    passed,   // nothing: `to` says why
};
// How its value is read.
enum class Taken {
    none,  // the flag has no value
    as_it_is,
    count,      // 32k is 32768; 0 and less leave ours in force
    kv_type,    // f32 and bf16 become f16
    yes_or_no,  // true where the flag stands alone
};

struct ForeignFlag {
    std::array<std::string_view, 3> names;
    Turn turn;
    Taken taken;
    std::string_view to;
    std::string_view only = "";  // the one value that the row is for; other values are refused
};

constexpr std::string_view k_placed =
    "where weights lie is decided by the plan; see `freetoken plan`, memory.ram_budget";
constexpr std::string_view k_always = "it is always so";
constexpr std::string_view k_one_machine = "one process computes on one machine";
constexpr std::string_view k_system = "the system places and ranks threads; nice and numactl tell it how";
constexpr std::string_view k_log = "the log on standard error has one line for each answer";
constexpr std::string_view k_apart = "thinking is told apart from the answer, as the model's template has it";

constexpr ForeignFlag k_flags[] = {
    {{"-c", "--ctx-size", "--max-model-len"}, Turn::flag, Taken::count, "--ctx"},
    {{"-t", "--threads", ""}, Turn::flag, Taken::count, "--threads"},
    {{"-n", "--n-predict", "--predict"}, Turn::flag, Taken::count, "--max-tokens"},
    {{"-n", "--n-gen", ""}, Turn::flag, Taken::as_it_is, "--tg"},
    {{"-p", "--n-prompt", ""}, Turn::flag, Taken::as_it_is, "--pp"},
    {{"-d", "--n-depth", ""}, Turn::flag, Taken::as_it_is, "--depth"},
    {{"-r", "--repetitions", ""}, Turn::flag, Taken::as_it_is, "--reps"},
    {{"-f", "--file", ""}, Turn::flag, Taken::as_it_is, "--text"},
    {{"-sys", "--system-prompt", ""}, Turn::flag, Taken::as_it_is, "--system"},
    {{"-no-cnv", "--no-conversation", ""}, Turn::flag, Taken::none, "--raw"},
    {{"--grammar-file", "", ""}, Turn::flag, Taken::as_it_is, "--grammar"},
    {{"-jf", "--json-schema-file", ""}, Turn::flag, Taken::as_it_is, "--json-schema"},
    {{"-a", "--alias", ""}, Turn::flag, Taken::as_it_is, "--served-model-name"},
    {{"-s", "", ""}, Turn::flag, Taken::as_it_is, "--seed"},
    {{"--temperature", "", ""}, Turn::flag, Taken::as_it_is, "--temp"},
    {{"--chat-template-file", "--chat-template", ""}, Turn::flag, Taken::as_it_is, "--template"},
    {{"--num-ctx", "", ""}, Turn::flag, Taken::count, "--ctx"},
    {{"--verbose", "", ""}, Turn::flag, Taken::none, "--stats"},  // as `ollama run` means it
    {{"-np", "--parallel", "--max-num-seqs"}, Turn::setting, Taken::count, "inference.batch_size"},
    {{"-ub", "--ubatch-size", "--max-num-batched-tokens"},
     Turn::setting,
     Taken::count,
     "inference.step_tokens"},
    {{"-ctk", "--cache-type-k", ""}, Turn::setting, Taken::kv_type, "kv_cache.quant_k"},
    {{"-ctv", "--cache-type-v", ""}, Turn::setting, Taken::kv_type, "kv_cache.quant_v"},
    {{"--kv-cache-dtype", "", ""}, Turn::setting, Taken::kv_type, "kv_cache.quant"},
    {{"--api-key-file", "", ""}, Turn::setting, Taken::as_it_is, "server.api_keys_file"},
    {{"-fa", "--flash-attn", ""}, Turn::setting, Taken::yes_or_no, "inference.flash_attn"},
    {{"--context-shift", "", ""}, Turn::fixed, Taken::none, "kv_cache.auto_evict=true"},
    {{"--no-context-shift", "", ""}, Turn::fixed, Taken::none, "kv_cache.auto_evict=false"},
    {{"--reasoning-budget", "", ""}, Turn::fixed, Taken::as_it_is, "inference.think=off", "0"},
    {{"--reasoning-budget", "", ""}, Turn::passed, Taken::as_it_is, "thinking has no bound of its own", "-1"},
    {{"--reasoning-format", "", ""}, Turn::passed, Taken::as_it_is, k_apart, "auto"},
    {{"--reasoning-format", "", ""}, Turn::passed, Taken::as_it_is, k_apart, "deepseek"},
    {{"--hidethinking", "", ""}, Turn::fixed, Taken::none, "inference.think=hide"},
    {{"-b", "--batch-size", ""}, Turn::passed, Taken::as_it_is, "tokens of a step are inference.step_tokens"},
    {{"-tb", "--threads-batch", ""}, Turn::passed, Taken::as_it_is, "--threads are those of prompts too"},
    {{"-ngl", "--n-gpu-layers", "--gpu-layers"}, Turn::passed, Taken::as_it_is, k_placed},
    {{"-ot", "--override-tensor", ""}, Turn::passed, Taken::as_it_is, k_placed},
    {{"-ncmoe", "--n-cpu-moe", ""}, Turn::passed, Taken::as_it_is, k_placed},
    {{"-cmoe", "--cpu-moe", ""}, Turn::passed, Taken::none, k_placed},
    {{"--moe-cache-mib", "", ""}, Turn::passed, Taken::as_it_is, k_placed},
    {{"-sm", "--split-mode", ""}, Turn::passed, Taken::as_it_is, k_placed},
    {{"-mg", "--main-gpu", ""}, Turn::passed, Taken::as_it_is, k_placed},
    {{"--gpu-memory-utilization", "", ""},
     Turn::passed,
     Taken::as_it_is,
     "a card's share is memory.gpu_vram_budget, in GiB"},
    {{"--cpu-offload-gb", "", ""},
     Turn::passed,
     Taken::as_it_is,
     "RAM for the model is memory.ram_budget, in GiB"},
    {{"--swap-space", "", ""},
     Turn::passed,
     Taken::as_it_is,
     "experts that RAM cannot hold are read from the model's file, or from memory.swap_dir"},
    {{"-tp", "--tensor-parallel-size", ""}, Turn::passed, Taken::as_it_is, k_one_machine},
    {{"--data-parallel-size", "-dp", "--pipeline-parallel-size"},
     Turn::passed,
     Taken::as_it_is,
     k_one_machine},
    {{"--enable-expert-parallel", "", ""}, Turn::passed, Taken::none, k_one_machine},
    {{"-cnv", "--conversation", ""}, Turn::passed, Taken::none, "without a prompt it is a chat"},
    {{"--no-display-prompt", "", ""}, Turn::passed, Taken::none, "a prompt is never shown again"},
    {{"--jinja", "", ""}, Turn::passed, Taken::none, k_always},
    {{"-cb", "--cont-batching", ""}, Turn::passed, Taken::none, k_always},
    {{"--metrics", "", ""}, Turn::passed, Taken::none, k_always},
    {{"--slots", "", ""}, Turn::passed, Taken::none, "running requests are at /v1/stats and /v1/requests"},
    {{"--no-webui", "--no-ui", ""}, Turn::passed, Taken::none, "there is no page"},
    {{"--dtype", "", ""}, Turn::passed, Taken::as_it_is, "weights are computed with as the file has them"},
    {{"--no-mmap", "--mlock", "--direct-io"},
     Turn::passed,
     Taken::none,
     "files are always read, never mapped"},
    {{"--enable-prefix-caching", "--enable-chunked-prefill", "--enable-auto-tool-choice"},
     Turn::passed,
     Taken::none,
     k_always},
    {{"--tool-call-parser", "--reasoning-parser", ""},
     Turn::passed,
     Taken::as_it_is,
     "the model's template decides it"},
    {{"--embeddings", "--embedding", ""}, Turn::passed, Taken::none, "`serve` always has /v1/embeddings"},
    {{"--timeout", "-to", ""},
     Turn::passed,
     Taken::as_it_is,
     "header_timeout, body_timeout, idle_timeout and write_timeout of the section server say how long "
     "connections wait"},
    {{"--threads-http", "", ""}, Turn::passed, Taken::as_it_is, "one thread serves all connections"},
    {{"--disable-log-requests", "--no-enable-log-requests", "--disable-log-stats"},
     Turn::passed,
     Taken::none,
     "the log has one line for each answer, and nothing of its content"},
    {{"-v", "--verbose", "--log-verbose"}, Turn::passed, Taken::none, k_log},
    {{"-lv", "--verbosity", "--log-verbosity"}, Turn::passed, Taken::as_it_is, k_log},
    {{"--log-disable", "", ""}, Turn::passed, Taken::none, "`2> /dev/null` drops the log"},
    {{"--log-timestamps", "--log-prefix", ""}, Turn::passed, Taken::none, k_log},
    {{"--log-colors", "--color", ""},
     Turn::passed,
     Taken::yes_or_no,
     "a terminal shows thinking dimmed unless NO_COLOR is set"},
    {{"--no-mmproj", "", ""}, Turn::passed, Taken::none, "models read text alone"},
    {{"--numa", "--prio", "--poll"}, Turn::passed, Taken::as_it_is, k_system},
    {{"--swa-full", "", ""}, Turn::passed, Taken::none, "keys and values of the whole context are kept"},
    {{"-st", "--single-turn", ""},
     Turn::passed,
     Taken::none,
     "a prompt is answered once; without one it is a chat"},
    {{"-e", "--escape", "--no-escape"},
     Turn::passed,
     Taken::none,
     "a prompt is taken as it is typed; the shell writes a line feed as $'\\n'"},
    {{"--keepalive", "", ""},
     Turn::passed,
     Taken::as_it_is,
     "the model is loaded for as long as the command runs"},
    {{"--nowordwrap", "", ""}, Turn::passed, Taken::none, "the terminal breaks lines"},
    {{"--trust-remote-code", "--no-warmup", ""}, Turn::passed, Taken::none, "there is nothing of the kind"},
};

const OwnFlag* find_own(const std::vector<OwnFlag>& own, std::string_view name) {
    const auto found = std::ranges::find(own, name, &OwnFlag::name);
    return found == own.end() ? nullptr : &*found;
}

// The row of a word that the command does not have itself, or has under the same name. value: what would be
// its value.
const ForeignFlag* find_foreign(const std::vector<OwnFlag>& own, std::string_view name,
                                std::string_view value) {
    const bool has_itself = find_own(own, name) != nullptr;
    for (const ForeignFlag& flag : k_flags) {
        if (name.empty() || std::ranges::find(flag.names, name) == flag.names.end()) continue;
        if (!flag.only.empty() && flag.only != value) continue;
        const bool becomes_flag = flag.turn == Turn::flag;
        if (has_itself && !(becomes_flag && flag.to == name)) continue;
        if (find_own(own, becomes_flag ? flag.to : "--ctx") != nullptr) return &flag;
    }
    return nullptr;
}

// "8192", "32k"; nothing where it is no number.
std::optional<int64_t> count_of(std::string_view text) {
    int64_t n = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (failed != std::errc()) return std::nullopt;
    const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
    if (unit == "k" || unit == "K") return n * 1024;
    return unit.empty() ? std::optional(n) : std::nullopt;
}

bool is_yes_or_no(std::string_view word) {
    constexpr std::array k_words = {"on", "off", "auto", "true", "false", "1", "0"};
    return std::find(k_words.begin(), k_words.end(), word) != k_words.end();
}

// The value as our setting takes it; nothing where ours stays in force.
std::optional<std::string> our_value(Taken taken, const std::string& value) {
    if (taken == Taken::count) {
        const std::optional<int64_t> n = count_of(value);
        if (n && *n <= 0) return std::nullopt;
        return n ? fmt::format("{}", *n) : value;  // what is no number is refused under our name
    }
    if (taken == Taken::yes_or_no)
        return value == "off" || value == "false" || value == "0" ? "false" : "true";
    if (taken != Taken::kv_type) return value;
    if (value == "auto") return std::nullopt;
    if (value == "f32" || value == "bf16" || value == "bfloat16" || value == "float16") return "f16";
    return value.starts_with("fp8") ? "fp8" : value;
}

// Reads one word after the other.
class Translation {
 public:
    Translation(const std::vector<std::string>& words, const std::vector<OwnFlag>& own)
        : words_(words), own_(own) {}

    Translated run() {
        while (at_ < words_.size()) {
            const std::string& word = words_[at_++];
            const size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
            const std::string name = word.substr(0, equals);
            if (const ForeignFlag* flag = find_foreign(own_, name, next_value(equals))) {
                take(*flag, name, equals);
                continue;
            }
            out_.words.push_back(word);
            const OwnFlag* own = find_own(own_, name);
            if (own && own->takes_value && equals == std::string::npos && at_ < words_.size())
                out_.words.push_back(words_[at_++]);
        }
        return std::move(out_);
    }

 private:
    // What stands behind '=', else the next word; "" where there is neither.
    std::string_view next_value(size_t equals) const {
        if (equals != std::string::npos) return std::string_view(words_[at_ - 1]).substr(equals + 1);
        return at_ < words_.size() ? std::string_view(words_[at_]) : "";
    }

    // The value that stands behind '=' or is the next word; nothing where there is none.
    std::optional<std::string> value_of(const ForeignFlag& flag, size_t equals) {
        if (equals != std::string::npos) return words_[at_ - 1].substr(equals + 1);
        const bool there = at_ < words_.size();
        if (flag.taken == Taken::yes_or_no)
            return there && is_yes_or_no(words_[at_]) ? words_[at_++] : std::string("on");
        if (!there || flag.taken == Taken::none) return std::nullopt;
        return words_[at_++];
    }

    void take(const ForeignFlag& flag, const std::string& name, size_t equals) {
        const std::optional<std::string> given = value_of(flag, equals);
        if (flag.turn == Turn::passed) {
            out_.notes.push_back(fmt::format("{} changes nothing: {}.", name, flag.to));
            return;
        }
        if (flag.turn == Turn::fixed) return set(flag.to);
        if (!given) {  // our parser says what is missing
            out_.words.emplace_back(flag.turn == Turn::flag ? std::string(flag.to) : name);
            return;
        }
        const std::optional<std::string> value = our_value(flag.taken, *given);
        if (!value) return;
        if (flag.turn == Turn::setting) return set(fmt::format("{}={}", flag.to, *value));
        out_.renamed.emplace_back(flag.to, name);
        out_.words.emplace_back(flag.to);
        out_.words.push_back(*value);
    }

    void set(std::string_view assignment) {
        out_.words.emplace_back("--set");
        out_.words.emplace_back(assignment);
    }

    const std::vector<std::string>& words_;
    const std::vector<OwnFlag>& own_;
    size_t at_ = 0;
    Translated out_;
};

// "0.0.0.0:11434", "http://127.0.0.1:8000/", "somewhere"
void take_address(std::string address, const std::string& origin, ForeignVariables& out) {
    const size_t scheme = address.find("://");
    if (scheme != std::string::npos) address.erase(0, scheme + 3);
    address = address.substr(0, address.find('/'));
    const size_t colon = address.rfind(':');
    const bool has_port = colon != std::string::npos && address.find(']', colon) == std::string::npos;
    std::string host = address.substr(0, has_port ? colon : std::string::npos);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (!host.empty()) out.presets.push_back({origin, "server.host", host});
    if (!has_port) return;
    const std::optional<int64_t> port = count_of(address.substr(colon + 1));
    if (port && *port > 0 && *port <= 65535)
        out.presets.push_back({origin, "server.port", fmt::format("{}", *port)});
    else out.notes.push_back(fmt::format("{}={} has no port that can be used.", origin, printable(address)));
}

struct ForeignVariable {
    std::string_view name, key;  // key: "" where the variable changes nothing
    Taken taken;
    std::string_view why;
};
constexpr ForeignVariable k_variables[] = {
    {"OLLAMA_NUM_PARALLEL", "inference.batch_size", Taken::count, ""},
    {"OLLAMA_CONTEXT_LENGTH", "kv_cache.max_context", Taken::count, ""},
    {"OLLAMA_KV_CACHE_TYPE", "kv_cache.quant", Taken::kv_type, ""},
    {"OLLAMA_MAX_QUEUE", "server.max_waiting", Taken::count, ""},
    {"OLLAMA_MAX_LOADED_MODELS", "", Taken::none, "one process serves one model"},
    {"OLLAMA_GPU_OVERHEAD", "", Taken::none, "this version computes on the CPU"},
    {"OLLAMA_FLASH_ATTENTION", "", Taken::none, "attention is always of that kind"},
    {"OLLAMA_KEEP_ALIVE", "", Taken::none, "the model stays loaded"},
};

}  // namespace

Translated translate_flags(const std::vector<std::string>& words, const std::vector<OwnFlag>& own) {
    return Translation(words, own).run();
}

std::vector<std::string> foreign_flag_names(const std::vector<OwnFlag>& own) {
    std::vector<std::string> names;
    for (const ForeignFlag& flag : k_flags)
        for (const std::string_view name : flag.names)
            if (name.starts_with("--") && find_foreign(own, name, flag.only) == &flag)
                names.emplace_back(name);
    return names;
}

ForeignVariables translate_variables(const std::vector<std::pair<std::string, std::string>>& variables) {
    ForeignVariables out;
    for (const auto& [name, value] : variables) {
        if (value.empty()) continue;
        if (name == "OLLAMA_HOST") {
            take_address(value, name, out);
            continue;
        }
        const auto known = std::find_if(std::begin(k_variables), std::end(k_variables),
                                        [&](const ForeignVariable& v) { return v.name == name; });
        if (known == std::end(k_variables)) continue;
        if (known->key.empty()) {
            out.notes.push_back(fmt::format("{} changes nothing: {}.", name, known->why));
            continue;
        }
        const std::optional<std::string> ours = our_value(known->taken, value);
        const Key* key = find_key(known->key);
        if (ours && !parse_value(*key, name, *ours))
            out.notes.push_back(fmt::format("{}={} is passed over: {} takes {}.", name, printable(value),
                                            known->key, allowed_values(*key)));
        else if (ours) out.presets.push_back({name, std::string(known->key), *ours});
    }
    for (const Sources::Preset& preset : out.presets)
        out.notes.push_back(fmt::format("{} is {}, from {}; a setting of ours comes before it.", preset.key,
                                        printable(preset.text), preset.origin));
    return out;
}

std::vector<std::pair<std::string, std::string>> ollama_environment() {
    std::vector<std::pair<std::string, std::string>> found;
    for (char** at = environ; at && *at; at++) {
        const std::string_view line = *at;
        const size_t equals = line.find('=');
        if (line.starts_with("OLLAMA_") && equals != std::string_view::npos)
            found.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    return found;
}

}  // namespace ft::cli
