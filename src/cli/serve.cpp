// freetoken serve: a model over HTTP until it is told to stop (docs/api.md).
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <atomic>
#include <csignal>
#include <ctime>
#include <system_error>
#include <thread>

#include "base/bytes.h"
#include "base/log.h"
#include "cli/load_engine.h"
#include "cli/model_text.h"
#include "cli/plan_settings.h"
#include "cli/scheduler_settings.h"
#include "cli/serve_access.h"
#include "cli/served_model_info.h"
#include "cli/serving_settings.h"
#include "cli/start_lines.h"
#include "device/cpu.h"
#include "gguf/summary.h"
#include "http/http_server.h"
#include "kv/kv_shape.h"
#include "server/service.h"
#include "tiers/plan.h"

namespace ft::cli {

namespace {

constexpr Seconds k_look_at_signals = 0.2;  // between two looks at what else may have ended the server
constexpr Seconds k_last_writes = 3;        // for what is answered but not yet sent
constexpr Seconds k_last_lines = 1;         // for what is logged but not yet written

// SIGTERM and SIGINT end the server, SIGHUP reads its keys again. All threads leave them to the main one,
// which takes them one by one.
class ServerSignals {
 public:
    ServerSignals() {
        sigemptyset(&set_);
        for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, signal);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }
    // What came late changes nothing any more; what comes from here on ends the program, whatever it waits
    // for.
    ~ServerSignals() {
        while (next(0) != 0) continue;
        pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
    }
    ServerSignals(const ServerSignals&) = delete;
    ServerSignals& operator=(const ServerSignals&) = delete;
    // The next one; 0 where none came in so many seconds.
    int next(Seconds most) const {
        const timespec time{0, static_cast<long>(most * 1e9)};
        const int signal = sigtimedwait(&set_, nullptr, &time);
        return signal > 0 ? signal : 0;
    }

 private:
    sigset_t set_{};
};

HttpOptions http_options(const Settings& settings, std::shared_ptr<ByteRoom> room) {
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
            .quiet_seconds = seconds("server.ping_seconds"),
            .room = std::move(room)};
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
    const StartFacts facts = {.name = choice.shown_name(),
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
    const ServerSignals& signals;
    const std::shared_ptr<ByteRoom> room;  // of requests
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
    load.requests = request_room(choice.settings);
    // Of a budget that the machine decides, which is a little less by now, what was given to requests counts.
    if (!load.ram_budget) load.requests.least = room->most();
    engine.start(
        [load](const EngineThread::Progress& progress) mutable {
            load.progress = progress;
            return load_engine(std::move(load));
        },
        *text.tokenizer, options,
        [this](const Engine& loaded) {
            say_start(choice, loaded);
            log("serve", "listening on {}", http->address());
            finish_log(k_last_lines);  // whoever waits for /health finds the lines in the log
        });
}

void Serving::reload_keys() {
    if (const Status read = keys->reload(); !read)
        log("warn", "the keys stay as they were: {}", read.error().sentence());
    else
        log("serve", "{} in force",
            keys->size() == 1 ? "1 key is" : fmt::format("{} keys are", keys->size()));
}

// Running answers may end, for a while; a second signal ends the wait.
void Serving::end() {
    const size_t n = service->under_way();
    if (n == 0) log("serve", "stopping: no request is under way");
    else
        log("serve", "stopping: {} under way may take {} s",
            n == 1 ? "the request" : fmt::format("{} requests", n),
            choice.settings.integer("server.drain_timeout"));
    http->end_keep_alive();
    std::atomic<bool> drained{false};
    const auto wait_for_answers = [&] {
        service->drain(static_cast<Seconds>(choice.settings.integer("server.drain_timeout")));
        drained = true;
    };
    std::thread drain;
    try {
        drain = std::thread(wait_for_answers);
    } catch (const std::system_error&) {
        wait_for_answers();  // without a thread a second signal is not seen; the wait has its end all the
                             // same
    }
    while (!drained) {
        const int signal = signals.next(0.02);
        if (signal == SIGTERM || signal == SIGINT) service->hurry();
    }
    if (drain.joinable()) drain.join();
    http->stop(k_last_writes);
}

Expected<int> Serving::run() {
    for (;;) {
        const int signal = signals.next(k_look_at_signals);
        if (engine.state() == EngineThread::State::failed) break;
        if (signal == SIGHUP) reload_keys();
        if (signal != SIGTERM && signal != SIGINT) continue;
        // Reading a model cannot be called off; nothing is lost by ending in the middle of it.
        if (engine.state() == EngineThread::State::loading) {
            finish_log(k_last_lines);
            std::_Exit(0);
        }
        end();
        break;
    }
    service->stop_work();
    engine.stop();
    http.reset();
    if (const std::optional<Error> failure = engine.failure()) return *failure;
    log("serve", "stopped");
    return 0;
}

void fit_context(ModelChoice& choice, int64_t trained_context) {
    const std::string line = fit_wished_context(choice.settings, trained_context);
    if (line.empty()) return;
    log("kv", "{}", line);
    choice.n_ctx = trained_context;
}

ServiceOptions service_options(const Settings& settings, const ServedModelInfo& info, bool local_only) {
    return {.info = info,
            .fingerprint = fmt::format("freetoken-{}", FREETOKEN_VERSION),
            .version = FREETOKEN_VERSION,
            .max_waiting = static_cast<size_t>(settings.integer("server.max_waiting")),
            .cors_origins = settings.list("server.cors_origins"),
            .local_only = local_only,
            .host_names = settings.list("server.host_names"),
            .block_tokens = k_kv_block};
}

Expected<int> serve(ModelChoice choice) {
    const ServerSignals signals;
    const Settings& settings = choice.settings;
    const Expected<bool> local_only = serves_this_machine_alone(settings);
    if (!local_only) return local_only.error();
    Expected<std::unique_ptr<ApiKeys>> keys =
        ApiKeys::load(settings.has("server.api_keys_file") ? settings.text("server.api_keys_file") : "");
    if (!keys) return keys.error();
    const Expected<Ram> ram = read_ram();
    if (!ram) return ram.error();
    Expected<ModelText> text = load_model_text(choice, TemplateUse::where_there_is_one);
    if (!text) return text.error();
    const Expected<ServedModelInfo> info = served_model_info(
        served_name(choice), choice.path, text->chat_template ? &*text->chat_template : nullptr);
    if (!info) return info.error();
    fit_context(choice, info->trained_context);
    const Machine machine{.ram_total = ram->total_bytes, .ram_available = ram->fillable_bytes(), .card = {}};
    const uint64_t budget = plan_settings(choice).ram_budget.value_or(auto_ram_budget(machine));
    const auto room = std::make_shared<ByteRoom>(request_room(settings).bytes(budget));
    Serving serving{choice, signals, room, std::move(*text), std::move(*keys), {}, nullptr, nullptr};
    serving.service = std::make_unique<Service>(
        service_options(settings, *info, *local_only), serving.engine, *serving.keys, *serving.text.tokenizer,
        serving.text.chat_template ? &*serving.text.chat_template : nullptr, serving.text.defaults);
    Expected<std::unique_ptr<HttpServer>> http =
        HttpServer::listen(http_options(settings, room), serving.service->callbacks());
    if (!http) return http.error();
    serving.http = std::move(*http);
    serving.service->watch(*serving.http);
    serving.load();
    return serving.run();
}

}  // namespace

Action define_serve(CLI::App& app) {
    const auto flags = add_model_flags(app, Use::serving);
    return [=] {
        log_by_thread(STDERR_FILENO);  // a server goes on where nobody reads its log
        Expected<int> outcome = with_model(*flags, &serve);
        finish_log(k_last_lines);
        return outcome;
    };
}

}  // namespace ft::cli
