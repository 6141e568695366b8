// freetoken serve: a model over HTTP until it is told to stop (docs/api.md).
#include <CLI/CLI.hpp>

#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/bytes.h"
#include "base/log.h"
#include "cli/load_engine.h"
#include "cli/model_text.h"
#include "cli/scheduler_settings.h"
#include "cli/start_lines.h"
#include "gguf/gguf.h"
#include "gguf/summary.h"
#include "http/http_server.h"
#include "kv/kv_shape.h"
#include "server/service.h"
#include "tiers/plan.h"

namespace ft::cli {

namespace {

constexpr Seconds k_look_at_signals = 0.2;  // between two looks at what else may have ended the server
constexpr Seconds k_last_writes = 3;        // for what is answered but not yet sent

// SIGTERM and SIGINT end the server, SIGHUP reads its keys again. All threads leave them to the main one,
// which takes them one by one.
class ServerSignals {
 public:
    ServerSignals() {
        sigemptyset(&set_);
        for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, signal);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }
    // The next one; 0 where none came in so many seconds.
    int next(Seconds most) const {
        const timespec time{0, static_cast<long>(most * 1e9)};
        const int signal = sigtimedwait(&set_, nullptr, &time);
        return signal > 0 ? signal : 0;
    }

 private:
    sigset_t set_{};
};

bool is_this_machine(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Status check_access(const Settings& settings) {
    const std::string& host = settings.text("server.host");
    if (is_this_machine(host) || settings.has("server.api_keys_file") ||
        settings.boolean("server.allow_without_keys"))
        return {};
    return Error{
        Code::invalid,
        fmt::format("server.host: {} is open to other machines, and no key is needed", printable(host)),
        "Name a file of keys by server.api_keys_file, or set server.allow_without_keys: true where "
        "everybody who reaches the port may use the model."};
}

std::string served_name(const Settings& settings, const std::string& path) {
    if (settings.has("model.served_model_name")) return settings.text("model.served_model_name");
    return std::filesystem::path(path).stem().string();
}

int64_t modified(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? static_cast<int64_t>(status.st_mtime) : 0;
}

Expected<ServedModelInfo> model_info(std::string name, const std::string& path) {
    const Expected<Gguf> file = Gguf::open(path);
    if (!file) return file.error();
    const Summary summary = summarise(*file);
    const std::string text = summary.chat_template.value_or("");
    const Expected<int64_t> width = file->get_int(summary.architecture + ".embedding_length", 0);
    return ServedModelInfo{.name = std::move(name),
                           .created = modified(path),
                           .digest = "",
                           .bytes = static_cast<int64_t>(summary.tensor_bytes),
                           .parameters = static_cast<int64_t>(summary.total_parameters),
                           .quantisation = summary.quantisation,
                           .architecture = summary.architecture,
                           .trained_context = summary.context_length.value_or(0),
                           .template_text = text,
                           .embedding_length = width ? *width : 0,
                           .vocabulary = summary.vocab_size.value_or(0),
                           .tools = text.find("tools") != std::string::npos,
                           .thinking = text.find("<think>") != std::string::npos};
}

HttpOptions http_options(const Settings& settings) {
    const auto seconds = [&](const char* name) { return static_cast<Seconds>(settings.integer(name)); };
    const auto bytes = [&](const char* name, uint64_t unit) {
        return static_cast<uint64_t>(settings.integer(name)) * unit;
    };
    return {.host = settings.text("server.host"),
            .port = static_cast<int>(settings.integer("server.port")),
            .max_connections = static_cast<size_t>(settings.integer("server.max_connections")),
            .max_body_bytes = bytes("server.max_body_mib", k_mib),
            .max_unsent_bytes = bytes("server.stream_buffer_kib", k_kib),
            .idle_seconds = seconds("server.idle_timeout"),
            .header_seconds = seconds("server.header_timeout"),
            .body_seconds = seconds("server.body_timeout"),
            .write_seconds = seconds("server.write_timeout"),
            .quiet_seconds = seconds("server.ping_seconds")};
}

std::string kv_type_word(KvType type) {
    if (type == KvType::f16) return "f16";
    return type == KvType::q8_0 ? "int8" : "int4";
}

std::string kv_name(const KvTypes& types) {
    if (types.k == types.v) return kv_type_word(types.k);
    return fmt::format("{} keys and {} values", kv_type_word(types.k), kv_type_word(types.v));
}

void say_start(const ModelChoice& choice, const Engine& engine) {
    const Summary summary = summarise(engine.file());
    const Plan& plan = engine.plan();
    const int64_t in_ram = plan.n_ram_slots() + plan.n_vram_slots();
    const StartFacts facts = {.file = std::filesystem::path(choice.path).filename().string(),
                              .bytes_read = engine.bytes_loaded(),
                              .load_seconds = engine.load_ms() / 1e3,
                              .threads = engine.threads(),
                              .kernels = engine.kernels_name(),
                              .quantisation = summary.quantisation,
                              .ram_budget = plan.ram_budget,
                              .ram_planned = plan.total.ram,
                              .experts_in_ram = in_ram,
                              .experts = in_ram + plan.n_on_drive,
                              .experts_per_layer = summary.n_experts,
                              .kv_type = kv_name(engine.kv_types()),
                              .n_ctx = engine.n_ctx(),
                              .kv_bytes = plan.kv_bytes};
    for (const StartLine& line : start_lines(facts)) log_line(line.area, line.text);
}

// A running server: what it is made of, in the order in which the parts need each other.
struct Serving {
    const ModelChoice& choice;
    ServerSignals& signals;
    ModelText text;
    std::unique_ptr<ApiKeys> keys;
    EngineThread engine;
    std::unique_ptr<Service> service;
    std::unique_ptr<HttpServer> http;

    Expected<int> run();
    void load();
    void reload_keys();
    void end();
};

void Serving::load() {
    SchedulerOptions options = scheduler_options(choice.settings);
    // One call may bring several requests; that there are too many is said before they are handed over.
    options.most_waiting =
        static_cast<size_t>(choice.settings.integer("server.max_waiting")) + k_most_prompts;
    LoadOptions load = load_options(choice);
    load.steps.batch_size = options.batch_size;  // what the plan makes room for
    load.kv.pool_tokens = options.pool_tokens;
    engine.start(
        [load](const EngineThread::Progress& progress) mutable {
            load.progress = progress;
            return load_engine(std::move(load));
        },
        *text.tokenizer, options,
        [this](const Engine& loaded) {
            say_start(choice, loaded);
            log("serve", "listening on {}", http->address());
        });
}

void Serving::reload_keys() {
    if (const Status read = keys->reload(); !read)
        log("warn", "the keys stay as they were: {}", read.error().sentence());
    else log("serve", "{} keys are in force", keys->size());
}

// Running answers may end, for a while; a second signal ends the wait.
void Serving::end() {
    log("serve", "stopping: answers under way may take {} s",
        choice.settings.integer("server.drain_timeout"));
    http->end_keep_alive();
    std::atomic<bool> drained{false};
    std::thread drain([&] {
        service->drain(static_cast<Seconds>(choice.settings.integer("server.drain_timeout")));
        drained = true;
    });
    while (!drained) {
        const int signal = signals.next(0.02);
        if (signal == SIGTERM || signal == SIGINT) service->hurry();
    }
    drain.join();
    http->stop(k_last_writes);
}

Expected<int> Serving::run() {
    for (;;) {
        const int signal = signals.next(k_look_at_signals);
        if (engine.state() == EngineThread::State::failed) break;
        if (signal == SIGHUP) reload_keys();
        if (signal != SIGTERM && signal != SIGINT) continue;
        // Reading a model cannot be called off; nothing is lost by ending in the middle of it.
        if (engine.state() == EngineThread::State::loading) std::_Exit(0);
        end();
        break;
    }
    service->stop_work();
    engine.stop();
    http.reset();
    if (const std::optional<Error> failure = engine.failure()) return *failure;
    return 0;
}

Expected<int> serve(const ModelChoice& choice) {
    ServerSignals signals;
    const Settings& settings = choice.settings;
    if (Status allowed = check_access(settings); !allowed) return allowed.error();
    Expected<std::unique_ptr<ApiKeys>> keys =
        ApiKeys::load(settings.has("server.api_keys_file") ? settings.text("server.api_keys_file") : "");
    if (!keys) return keys.error();
    Expected<ModelText> text = load_model_text(choice, TemplateUse::where_there_is_one);
    if (!text) return text.error();
    const Expected<ServedModelInfo> info = model_info(served_name(settings, choice.path), choice.path);
    if (!info) return info.error();
    Serving serving{choice, signals, std::move(*text), std::move(*keys), {}, nullptr, nullptr};
    serving.service = std::make_unique<Service>(
        ServiceOptions{.info = *info,
                       .fingerprint = fmt::format("freetoken-{}", FREETOKEN_VERSION),
                       .version = FREETOKEN_VERSION,
                       .max_waiting = static_cast<size_t>(settings.integer("server.max_waiting")),
                       .cors_origins = settings.list("server.cors_origins"),
                       .block_tokens = k_kv_block},
        serving.engine, *serving.keys, *serving.text.tokenizer,
        serving.text.chat_template ? &*serving.text.chat_template : nullptr, serving.text.defaults);
    Expected<std::unique_ptr<HttpServer>> http =
        HttpServer::listen(http_options(settings), serving.service->callbacks());
    if (!http) return http.error();
    serving.http = std::move(*http);
    serving.service->watch(*serving.http);
    serving.load();
    return serving.run();
}

}  // namespace

Action define_serve(CLI::App& app) {
    const auto flags = add_model_flags(app, Use::serving, ModelArgument::either);
    return [=] { return with_model(*flags, &serve); };
}

}  // namespace ft::cli
