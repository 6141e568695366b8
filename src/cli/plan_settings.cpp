#include "cli/plan_settings.h"

#include <sys/stat.h>

#include "base/bytes.h"
#include "cli/scheduler_settings.h"
#include "cli/serve_access.h"
#include "cli/serving_settings.h"
#include "device/cpu.h"

namespace ft::cli {

namespace {

std::optional<uint64_t> budget_of(const Settings& settings, std::string_view name) {
    if (!settings.has(name)) return std::nullopt;
    return static_cast<uint64_t>(settings.number(name) * static_cast<double>(k_gib));
}

}  // namespace

PlanSettings plan_settings(const ModelChoice& choice, PlanFor command) {
    const Settings& s = choice.settings;
    PlanSettings plan;
    plan.ram_budget = budget_of(s, "memory.ram_budget");
    plan.vram_budget = budget_of(s, "memory.gpu_vram_budget");
    if (s.has("memory.prefetch")) plan.prefetch = s.boolean("memory.prefetch");
    if (s.has("memory.gpu_expert_capacity"))
        plan.gpu_expert_capacity = s.integer("memory.gpu_expert_capacity");
    plan.cpu_offload = s.boolean("memory.cpu_offload");
    plan.n_ctx = choice.n_ctx;
    const KvOptions kv = kv_options(s);
    plan.n_sequences = command == PlanFor::run   ? 1
                       : command == PlanFor::any ? step_options(s, 1).batch_size
                                                 : scheduler_options(s).batch_size;
    if (command == PlanFor::serve) plan.requests = request_room(s);
    plan.pool_tokens = command == PlanFor::run ? 0 : kv.pool_tokens;
    plan.window = kv.sliding_window;
    plan.sinks = kv.sink_tokens;
    plan.endless = kv.auto_evict;
    plan.state_checkpoint_bytes = kv.state_checkpoint_bytes;
    return plan;
}

int thread_count(const Settings& settings) {
    return settings.has("inference.threads") ? static_cast<int>(settings.integer("inference.threads"))
                                             : physical_cores();
}

Status check_memory_settings(const Settings& settings) {
    if (!settings.has("memory.swap_dir")) return {};
    const std::string& path = settings.text("memory.swap_dir");
    struct stat status{};
    const bool there = ::stat(path.c_str(), &status) == 0;
    if (there && S_ISDIR(status.st_mode)) return {};
    return Error{there ? Code::invalid : Code::not_found,
                 fmt::format("memory.swap_dir ({}): {} is {}", settings.origin("memory.swap_dir"),
                             printable(path), there ? "no folder" : "not there"),
                 "Name a folder that exists, on a fast drive, or leave the setting out."};
}

std::vector<std::string> memory_notes(const Settings& settings) {
    std::vector<std::string> notes;
    for (const char* name : {"memory.gpu_vram_budget", "memory.gpu_expert_capacity"})
        if (settings.given(name))
            notes.push_back(fmt::format("{} has no effect yet: this version computes on the CPU.", name));
    return notes;
}

}  // namespace ft::cli
