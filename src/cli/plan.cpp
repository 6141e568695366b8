// freetoken plan: where every byte of a model would go on this machine, before anything of it is read
// (docs/verify.md).
#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/size_text.h"
#include "cli/json_text.h"
#include "cli/load_engine.h"
#include "cli/numbers.h"
#include "cli/plan_report.h"
#include "cli/plan_settings.h"
#include "cli/planned_card.h"
#include "cli/quantisation_note.h"
#include "cli/serving_settings.h"
#include "cli/standard_output.h"
#include "device/cpu.h"
#include "device/profile.h"
#include "engine/machine_profile.h"
#include "engine/model_shape.h"
#include "gguf/summary.h"
#include "hub/remote_file.h"
#include "kernels/kernels.h"

namespace ft::cli {

namespace {

constexpr int64_t k_contexts[] = {1024, 2048, 4096, 8192, 16384, 32768};

struct PlanFlags {
    double vram_gib = 0;
    bool json = false;
    std::string command;  // "": none is named

    PlanFor plan_for() const {
        if (command.empty()) return PlanFor::any;
        if (command == "run") return PlanFor::run;
        return command == "serve" ? PlanFor::serve : PlanFor::batch;
    }
};

Expected<Gguf> open_header(const std::string& path) {
    if (is_url(path)) return Gguf::open(path, Gguf::Cut::allow, &open_remote);
    return Gguf::open(path, Gguf::Cut::allow);
}

// Rates of the drive that a model lies on; of one that is still on a server, those of the user's own folder.
// Of the processor's those of the threads that will compute.
// measure: what is not known of them yet; else there may be none.
std::optional<MachineProfile> profile_for(const std::string& path, int threads, bool measure) {
    const std::string where = is_url(path) ? "." : path;
    if (!measure) {
        const auto known = known_machine_profile(where);
        return known ? std::optional(with_threads(*known, threads)) : std::nullopt;
    }
    const auto say = [] { log("plan", "measuring this machine once, for about 2 s"); };
    return with_threads(machine_profile(where, say), threads);
}

Prediction foresee(const PlanReport& report, const Plan& plan, const MachineProfile& profile) {
    const Prediction prediction = predict(report.machine, report.shape, plan, profile);
    return report.machine.card ? no_slower_than_writing(prediction, plan) : prediction;
}

void add_contexts(const PlanSettings& settings, const MachineProfile* profile, PlanReport& report) {
    for (const int64_t n : k_contexts) {
        if (n > report.shape.n_ctx_model) break;
        PlanSettings other = settings;
        other.n_ctx = n;
        ContextRow row{plan(report.machine, report.shape, other), {}};
        if (row.plan.fits && profile != nullptr) row.predicted = foresee(report, row.plan, *profile);
        report.contexts.push_back(std::move(row));
    }
}

void add_notes(const Gguf& file, const ModelChoice& model, const PlanFlags& flags, PlanReport& report) {
    if (file.missing_bytes() > 0)
        report.notes.push_back(
            fmt::format("The file is cut short: {} bytes are missing. It has to be downloaded again "
                        "before it can run.",
                        file.missing_bytes()));
    if (report.plan.fits && report.plan.total.ram > report.machine.ram_available)
        report.notes.push_back(
            fmt::format("This machine has {} of RAM available now: the plan is for another, or for later.",
                        size_text(report.machine.ram_available)));
    const int threads = thread_count(model.settings), cores = physical_cores();
    if (report.plan.fits && threads < cores)
        report.notes.push_back(
            fmt::format("Predicted for {} of {} cores: --threads {}, which is the default, uses all.",
                        threads, cores, cores));
    for (std::string& note : machine_notes(threads, report.plan.ram_budget, cores, report.machine.ram_total))
        report.notes.push_back(std::move(note));
    if (flags.plan_for() == PlanFor::any && report.plan.n_sequences > 1)
        report.notes.push_back(fmt::format(
            "Planned for {} answers at once (inference.batch_size), as serve and batch give them: "
            "--for run plans for a command that gives one at a time.",
            report.plan.n_sequences));
    if (const std::string note = low_quantisation_note(summarise(file).quantisation); !note.empty())
        report.notes.push_back(note);
    if (flags.vram_gib > 0)
        report.notes.push_back(
            "The card is planned for with rates that such cards have; for prompts none is known, so that no "
            "more is said than the speed of writing. This version computes on the CPU: without --vram the "
            "plan is what runs.");
    else
        for (std::string& note : memory_notes(model.settings)) report.notes.push_back(std::move(note));
    for (std::string& note : serving_notes(model.settings)) report.notes.push_back(std::move(note));
}

Expected<PlanReport> make_report(const ModelChoice& model, const PlanFlags& flags) {
    auto file = open_header(model.path);
    if (!file) return file.error();
    auto bound = Model::bind(*file, model.settings.has("inference.top_k_experts")
                                        ? model.settings.integer("inference.top_k_experts")
                                        : 0);
    if (!bound) return bound.error();
    const auto ram = read_ram();
    if (!ram) return ram.error();
    const auto kernels = choose_kernels();
    if (!kernels) return kernels.error();
    PlanReport report;
    const int threads = thread_count(model.settings);
    report.shape = model_shape(*file, **bound, kv_options(model.settings).types, **kernels, threads);
    if (!model.name.empty()) report.shape.name = model.name;
    report.file_bytes = file->file_bytes();
    report.machine = {.ram_total = ram->total_bytes, .ram_available = ram->fillable_bytes(), .card = {}};
    if (flags.vram_gib > 0) report.machine.card = planned_card(flags.vram_gib);
    const PlanSettings settings = plan_settings(model, flags.plan_for());
    report.plan = plan(report.machine, report.shape, settings);
    if (Status s = check_first_tokens(settings, report.plan.n_ctx); !s) return s.error();
    PlanSettings least = settings;
    least.ram_budget = report.plan.minimum_ram;
    report.some_budget_works = plan(report.machine, report.shape, least).fits;
    const auto profile = profile_for(model.path, threads, report.plan.fits);
    if (report.plan.fits) report.predicted = foresee(report, report.plan, *profile);
    const MachineProfile* rates = profile ? &*profile : nullptr;
    add_contexts(settings, rates, report);
    add_notes(*file, model, flags, report);
    report.advice = plan_advice(report.machine, report.shape, settings, report.plan, rates);
    return report;
}

Expected<int> print_plan(const ModelChoice& model, const PlanFlags& flags) {
    const auto report = make_report(model, flags);
    if (!report) return report.error();
    write_out(flags.json ? json_text(plan_json(*report), 2) : printable_lines(plan_text(*report)));
    if (Status s = finish_output(); !s) return s.error();
    return report->plan.fits ? 0 : 1;
}

}  // namespace

Action define_plan(CLI::App& app) {
    const auto model_flags = add_model_flags(app, Use::loading);
    model_flags->reads_addresses = true;
    app.get_option("model")->description(
        "the model's GGUF file, of a split model any part; or its address (https://…), of which only the "
        "header is read; or a name of `freetoken list`");
    const auto flags = std::make_shared<PlanFlags>();
    app.add_option("--vram", flags->vram_gib,
                   "plan for a card of so many GiB too, whether there is one or not")
        ->type_name("GIB")
        ->transform(real_number(0.5, 1024, "GiB"));
    app.add_option(
           "--for", flags->command,
           "the command that the plan is for: run, which gives one answer at a time, or serve or batch, "
           "which give several at once (inference.batch_size, --parallel; serve keeps RAM for their "
           "texts as well); without it one answer, or as many as inference.batch_size says")
        ->type_name("COMMAND")
        ->check(CLI::IsMember({"run", "serve", "batch"}));
    app.add_flag("--json", flags->json, "print one JSON object; sizes in bytes");
    return [=] {
        return with_model(*model_flags, [&](const ModelChoice& model) { return print_plan(model, *flags); });
    };
}

}  // namespace ft::cli
