#include "cli/serving_settings.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/bytes.h"
#include "io/output_file.h"

namespace ft::cli {

namespace {

uint64_t bytes_of(const Settings& settings, std::string_view name) {
    return static_cast<uint64_t>(settings.number(name) * static_cast<double>(k_gib));
}

// quant_k and quant_v follow quant where they say nothing.
const std::string& type_word(const Settings& settings, std::string_view name) {
    return settings.text(settings.has(name) ? name : "kv_cache.quant");
}

KvType type_of(std::string_view word) {
    if (word == "f16") return KvType::f16;
    return word == "int4" || word == "q4_0" ? KvType::q4_0 : KvType::q8_0;
}

Status check_slots(const Settings& settings) {
    if (!settings.given("inference.interactive_slots") || !settings.has("inference.interactive_slots"))
        return {};
    const StepOptions steps = step_options(settings, 4);
    if (steps.interactive_slots < steps.batch_size) return {};
    return Error{
        Code::invalid,
        fmt::format("inference.interactive_slots ({}) takes all of inference.batch_size ({})",
                    steps.interactive_slots, steps.batch_size),
        fmt::format("Choose {} or less, so that the batch lane keeps a slot.", steps.batch_size - 1)};
}

Status check_pool(const Settings& settings) {
    if (!settings.has("kv_cache.pool_tokens")) return {};
    const int64_t pool = settings.integer("kv_cache.pool_tokens");
    const bool windowed = settings.integer("kv_cache.sliding_window") > 0;
    if (windowed || !settings.has("kv_cache.max_context")) return {};
    const int64_t context = settings.integer("kv_cache.max_context");
    if (pool >= context) return {};
    return Error{Code::invalid,
                 fmt::format("kv_cache.pool_tokens ({}) is less than kv_cache.max_context ({}), so that a "
                             "full context would never fit",
                             pool, context),
                 "Raise the one or lower the other."};
}

Status check_folder(const Settings& settings) {
    if (!settings.has("kv_cache.park_dir")) return {};
    const std::string& path = settings.text("kv_cache.park_dir");
    struct stat status{};
    const bool there = ::stat(path.c_str(), &status) == 0;
    if (there && S_ISDIR(status.st_mode)) {
        const Status writable = check_takes_files(path);
        if (writable) return {};
        return Error{Code::io,
                     fmt::format("kv_cache.park_dir ({}): {}", settings.origin("kv_cache.park_dir"),
                                 writable.error().what),
                     "Name a folder that can be written to, or leave the setting out."};
    }
    return Error{there ? Code::invalid : Code::not_found,
                 fmt::format("kv_cache.park_dir ({}): {} is {}", settings.origin("kv_cache.park_dir"),
                             printable(path), there ? "no folder" : "not there"),
                 "Name a folder that exists, or leave the setting out."};
}

}  // namespace

Status check_serving_settings(const Settings& settings) {
    if (Status s = check_slots(settings); !s) return s;
    if (Status s = check_pool(settings); !s) return s;
    return check_folder(settings);
}

KvOptions kv_options(const Settings& settings) {
    KvOptions kv;
    kv.types = {.k = type_of(type_word(settings, "kv_cache.quant_k")),
                .v = type_of(type_word(settings, "kv_cache.quant_v"))};
    kv.sliding_window = settings.integer("kv_cache.sliding_window");
    kv.sink_tokens = settings.integer("kv_cache.sink_tokens");
    kv.auto_evict = settings.boolean("kv_cache.auto_evict");
    if (settings.has("kv_cache.pool_tokens")) kv.pool_tokens = settings.integer("kv_cache.pool_tokens");
    kv.overcommit = settings.boolean("kv_cache.overcommit");
    if (settings.has("kv_cache.prefix_cache"))
        kv.prefix_cache_bytes = bytes_of(settings, "kv_cache.prefix_cache");
    kv.state_checkpoint_bytes = bytes_of(settings, "kv_cache.state_checkpoints");
    if (settings.has("kv_cache.park_dir")) kv.park_dir = settings.text("kv_cache.park_dir");
    return kv;
}

StepOptions step_options(const Settings& settings, int64_t batch_size) {
    StepOptions steps;
    steps.batch_size =
        settings.has("inference.batch_size") ? settings.integer("inference.batch_size") : batch_size;
    steps.interactive_slots = settings.has("inference.interactive_slots")
                                  ? settings.integer("inference.interactive_slots")
                                  : std::min<int64_t>(2, steps.batch_size - 1);
    if (settings.has("inference.step_tokens")) steps.step_tokens = settings.integer("inference.step_tokens");
    steps.step_ms = settings.integer("inference.step_ms");
    return steps;
}

bool is_wished_context(const Settings& settings) {
    const std::string& origin = settings.origin("kv_cache.max_context");
    return origin.starts_with("--profile") || origin == "OLLAMA_CONTEXT_LENGTH";
}

std::string fit_wished_context(Settings& settings, int64_t trained_context) {
    constexpr const char* k_name = "kv_cache.max_context";
    if (!is_wished_context(settings) || trained_context <= 0) return "";
    const std::string origin = settings.origin(k_name);
    const int64_t asked = settings.integer(k_name);
    if (asked <= trained_context) return "";
    settings.set(*find_key(k_name), SettingValue(trained_context),
                 fmt::format("{} asks for {}, the model was made for this", origin, asked));
    return fmt::format("{} asks for a context of {} tokens, but the model was made for {}, which it gets",
                       origin, asked, trained_context);
}

std::vector<std::string> serving_notes(const Settings& settings) {
    std::vector<std::string> notes;
    for (const char* name : {"kv_cache.quant", "kv_cache.quant_k", "kv_cache.quant_v"})
        if (settings.has(name) && settings.text(name) == "fp8")
            notes.push_back(fmt::format("{}: fp8 is taken as int8 (q8_0), which is closer to f16.", name));
    const KvOptions kv = kv_options(settings);
    if (kv.sliding_window > 0)
        notes.push_back(fmt::format(
            "kv_cache.sliding_window is lossy: a token sees the last {} tokens and the first {}; what lies "
            "between is forgotten.",
            kv.sliding_window, kv.sink_tokens));
    if (kv.auto_evict)
        notes.push_back(
            "kv_cache.auto_evict is lossy: an answer that fills the context forgets the oldest tokens, and a "
            "chat that is longer than it loses its oldest turns.");
    static const Settings k_defaults;  // written out in a file they are no wish
    if (kv.sink_tokens != k_defaults.integer("kv_cache.sink_tokens") && kv.sliding_window == 0 &&
        !kv.auto_evict)
        notes.push_back(
            "kv_cache.sink_tokens changes nothing without kv_cache.sliding_window or kv_cache.auto_evict: "
            "all tokens stay in sight.");
    if (!kv.park_dir.empty() && !kv.overcommit)
        notes.push_back(
            "kv_cache.park_dir changes nothing without kv_cache.overcommit: no sequence is ever parked.");
    if (settings.has("inference.flash_attn") && !settings.boolean("inference.flash_attn"))
        notes.push_back("inference.flash_attn: false changes nothing; attention is always of that kind.");
    return notes;
}

}  // namespace ft::cli
