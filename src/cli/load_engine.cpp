#include "cli/load_engine.h"

#include "base/bytes.h"
#include "base/gib_digits.h"
#include "base/log.h"
#include "base/size_text.h"
#include "cli/plan_settings.h"
#include "cli/progress_bar.h"
#include "cli/runtime_folder.h"
#include "cli/serving_settings.h"
#include "cli/status_file.h"
#include "device/cpu.h"
#include "tiers/plan.h"

namespace ft::cli {

namespace {

// One file for the process, from its first model on.
void keep_status(const Engine& engine, const std::string& name,
                 std::shared_ptr<const EngineActivity> activity) {
    static std::unique_ptr<StatusFile> file;
    if (file) return;
    const Plan& plan = engine.plan();
    RunStatus status;
    status.model = name;
    status.ram_budget = plan.ram_budget;
    status.ram_planned = plan.total.ram;
    status.ram_margin = engine.memory_margin();
    status.ram_slots = plan.n_ram_slots();
    status.on_drive = plan.n_on_drive;
    status.n_experts = plan.n_ram_slots() + plan.n_vram_slots() + plan.n_on_drive;
    file = std::make_unique<StatusFile>(runtime_folder(), std::move(status), std::move(activity));
}

}  // namespace

std::vector<std::string> machine_notes(int threads, uint64_t ram_budget, int cores, uint64_t ram_total) {
    std::vector<std::string> notes;
    constexpr int k_threads_of_core = 2;  // at most, in the machines that this runs on
    if (threads > k_threads_of_core * cores)
        notes.push_back(fmt::format("{} threads for {} cores: more than can run at once make it slower.",
                                    threads, cores));
    if (ram_total > 0 && ram_budget > ram_total) {
        const int digits = gib_digits(ram_budget, ram_total);
        notes.push_back(fmt::format(
            "memory.ram_budget (--ram) of {:.{}f} GiB is more than this machine's {:.{}f} GiB of RAM.",
            gib(ram_budget), digits, gib(ram_total), digits));
    }
    return notes;
}

LoadOptions load_options(const ModelChoice& choice) {
    LoadOptions options;
    options.model_path = choice.path;
    options.model_name = choice.shown_name();
    options.n_ctx = choice.n_ctx;
    if (choice.settings.has("inference.threads"))
        options.threads = static_cast<int>(choice.settings.integer("inference.threads"));
    const PlanSettings plan = plan_settings(choice);
    options.ram_budget = plan.ram_budget;
    options.cpu_offload = plan.cpu_offload;
    options.warm_start = choice.settings.boolean("memory.warm_start");
    if (choice.settings.has("memory.swap_dir")) options.swap_dir = choice.settings.text("memory.swap_dir");
    options.expert_policy = choice.settings.text("memory.expert_policy");
    if (choice.settings.has("memory.prefetch")) options.prefetch = choice.settings.boolean("memory.prefetch");
    options.kv = kv_options(choice.settings);
    // Commands that answer one prompt after the other; those with several set this and steps themselves.
    options.kv.pool_tokens = 0;
    if (choice.settings.has("inference.top_k_experts"))
        options.top_k_experts = choice.settings.integer("inference.top_k_experts");
    if (!choice.quiet) {
        for (const std::string& note : serving_notes(choice.settings)) log("kv", "{}", note);
        for (const std::string& note : memory_notes(choice.settings)) log("mem", "{}", note);
    }
    const auto ram = read_ram();
    for (const std::string& note : machine_notes(options.threads, options.ram_budget.value_or(0),
                                                 physical_cores(), ram ? ram->total_bytes : 0))
        log("warn", "{}", note);
    return options;
}

std::string LoadNotice::line(uint64_t done, uint64_t total, Seconds spent) {
    if (is_told_ || spent < k_unnoticed_load || done >= total) return "";
    is_told_ = true;
    return fmt::format("{}: {} of {} are read{}", file_, size_text(done), size_text(total),
                       time_left(spent, done, total));
}

Expected<std::unique_ptr<Engine>> load_engine(LoadOptions options) {
    ProgressBar bar("loading");
    const std::string name = options.model_name.empty()
                                 ? options.model_path.substr(options.model_path.find_last_of('/') + 1)
                                 : options.model_name;
    LoadNotice notice(name, bar.on_terminal());
    const Seconds start = now_seconds();
    options.progress = [&, also = std::move(options.progress)](uint64_t done, uint64_t total) {
        bar.update(done, total);
        const std::string line = notice.line(done, total, now_seconds() - start);
        if (!line.empty()) log("load", "{}", line);
        if (also) also(done, total);
    };
    auto engine = Engine::load(options);
    if (engine)
        for (const std::string& note : (*engine)->notes()) log("model", "{}", note);
    if (engine) keep_status(**engine, name, options.activity);
    return engine;
}

}  // namespace ft::cli
