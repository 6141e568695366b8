// freetoken doctor: what this machine has, what a model's file is worth, and whether a running program stays
// well (docs/verify.md).
#include "cli/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/log.h"
#include "cli/doctor_watch.h"
#include "cli/json_text.h"
#include "cli/model_argument.h"
#include "cli/model_name.h"
#include "cli/numbers.h"
#include "cli/plan_settings.h"
#include "cli/serving_settings.h"
#include "cli/settings_flags.h"
#include "cli/standard_output.h"
#include "config/settings.h"
#include "device/cpu.h"
#include "engine/machine_profile.h"
#include "engine/model_shape.h"
#include "engine/swap_folder.h"
#include "kernels/kernels.h"
#include "tiers/expert_pack.h"

namespace ft::cli {

namespace {

using Json = nlohmann::ordered_json;

struct DoctorFlags {
    ModelArgument model;
    SettingsFlags settings;
    std::string watch_pid;
    double minutes = 10, min_tps = 0;
    bool json = false;
};

const char* state_name(State state) {
    switch (state) {
        case State::ok:
            return "ok";
        case State::warning:
            return "warning";
        case State::problem:
            return "problem";
    }
    return "";
}

struct Report {
    std::vector<Check> checks;
    MachineProfile profile;
    Bottleneck bottleneck;
    bool has_problem() const {
        return std::any_of(checks.begin(), checks.end(),
                           [](const Check& c) { return c.state == State::problem; });
    }
};

Json report_json(const Report& r) {
    Json rows = Json::array();
    for (const Check& c : r.checks)
        rows.push_back({{"name", c.name},
                        {"state", state_name(c.state)},
                        {"value", printable(c.value, 2000)},
                        {"advice", printable(c.advice, 2000)}});
    const Prediction* p = r.bottleneck.predicted ? &*r.bottleneck.predicted : nullptr;
    Json out = {{"checks", rows},
                {"profile",
                 {{"ram_read_gb_per_second", r.profile.ram_read_gb_per_second},
                  {"cpu_read_gb_per_second", r.profile.cpu_read_gb_per_second},
                  {"cpu_gflops", r.profile.cpu_gflops},
                  {"drive_read_gb_per_second", r.profile.drive.best_gb_per_second()},
                  {"drive_latency_us", r.profile.drive.latency_us},
                  {"physical_cores", r.profile.physical_cores},
                  {"ram_bytes", r.profile.ram_bytes}}},
                {"bottleneck", p != nullptr ? Json(limit_name(p->limit)) : Json("ram")},
                {"bottleneck_text", r.bottleneck.text}};
    if (p != nullptr)
        out["predicted"] = {{"model", printable(r.bottleneck.model)},
                            {"decode_per_second", p->decode_per_second},
                            {"prefill_per_second", p->prefill_per_second}};
    return out;
}

std::string report_text(const Report& r) {
    std::string text;
    for (const Check& c : r.checks) {
        text += fmt::format("{:<14}{:<9}{}\n", c.name, state_name(c.state), printable(c.value, 2000));
        if (!c.advice.empty()) text += fmt::format("{:<23}{}\n", "", printable(c.advice, 2000));
    }
    if (!r.bottleneck.text.empty()) text += "\n" + r.bottleneck.text + "\n";
    return text;
}

// The file's rows, and its shape where it can be run.
Expected<std::optional<ModelShape>> look_at_model(const std::string& path, const Settings& settings,
                                                  std::vector<Check>& checks) {
    const auto file = Gguf::open(path, Gguf::Cut::allow);
    if (!file) {
        if (file.error().code == Code::not_found) return file.error();
        checks.push_back(broken_model_check(file.error()));
        return std::optional<ModelShape>();
    }
    for (Check& check : model_checks(*file)) checks.push_back(std::move(check));
    const auto model = Model::bind(*file);
    if (model) {
        const auto kernels = choose_kernels();
        if (!kernels) return kernels.error();
        return std::optional(
            model_shape(*file, **model, kv_options(settings).types, **kernels, thread_count(settings)));
    }
    const bool told =
        std::any_of(checks.begin(), checks.end(), [](const Check& c) { return c.state == State::problem; });
    if (!told) checks.push_back({"tensors", State::problem, "incomplete", model.error().sentence()});
    return std::optional<ModelShape>();
}

// What `run` would do with the folder (engine/swap_folder.h). As in slots, so an expert is one read
// (tiers/expert_pack.h). Nothing of a model that does not fit, or where none is named.
ExpertCopy expert_copy(const std::string& folder, const Drive& drive, const std::string& path,
                       const std::optional<PlannedModel>& model) {
    if (!model) return {0, memory_folder_reason(drive)};
    if (!model->plan.fits) return {};
    if (model->plan.experts_resident) return {0, std::string(k_all_in_ram)};
    std::error_code failed;
    ExpertCopy copy;
    if (!std::filesystem::exists(ExpertPack::path_in(folder, path), failed))
        for (const ExpertClass& kind : model->shape.classes)
            copy.bytes += static_cast<uint64_t>(kind.n_experts) * kind.slot_bytes();
    const auto has_room = [&]() -> Status {
        if (copy.bytes <= drive.free_bytes) return {};
        return Error{Code::too_large, "no room for a copy", ""};  // the check of the folder says it
    };
    const auto drives = compare_drives(path, folder, has_room);
    if (drives && !drives->faster) return {0, drives->why};
    return copy;
}

Check look_at_swap_dir(const std::string& folder, const std::string& path,
                       const std::optional<PlannedModel>& model) {
    const auto drive = drive_of(folder);
    if (!drive)
        return {"swap_dir", State::problem, printable(folder),
                "Name a folder that exists, or leave the setting out."};
    return swap_dir_check(folder, *drive, expert_copy(folder, *drive, path, model));
}

Expected<int> examine(const Settings& settings, bool as_json) {
    std::string path = settings.has("model.path") ? settings.text("model.path") : "";
    Report report;
    std::vector<Check> model_rows;
    std::optional<ModelShape> shape;
    if (!path.empty()) {
        auto found = model_path(path, settings);
        if (!found) return found.error();
        path = std::move(*found);
        auto looked = look_at_model(path, settings, model_rows);
        if (!looked) return looked.error();
        shape = std::move(*looked);
    }
    const auto ram = read_ram();
    if (!ram) return ram.error();
    const std::string where = path.empty() ? "." : path;
    report.profile =
        machine_profile(where, [] { log("doctor", "measuring this machine once, for about 2 s"); });
    report.checks = machine_checks(where, report.profile);
    const Machine machine{.ram_total = ram->total_bytes, .ram_available = ram->fillable_bytes(), .card = {}};
    const PlanSettings wanted = plan_settings({path, settings, 0});
    std::optional<PlannedModel> model;
    if (shape) model.emplace(machine, std::move(*shape), wanted);
    if (settings.has("memory.swap_dir"))
        report.checks.push_back(look_at_swap_dir(settings.text("memory.swap_dir"), where, model));
    report.checks.insert(report.checks.end(), model_rows.begin(), model_rows.end());
    if (model) report.checks.push_back(plan_check(*model));
    if (path.empty()) model.emplace(machine, example_shape(), wanted);
    if (model)
        report.bottleneck = bottleneck_of(*model, with_threads(report.profile, thread_count(settings)));
    write_out(as_json ? json_text(report_json(report), 2) : printable_lines(report_text(report)));
    if (Status s = finish_output(); !s) return s.error();
    return report.has_problem() ? 1 : 0;
}

Expected<int> watch_process(const DoctorFlags& flags, bool has_min_tps) {
    int64_t pid = 0;
    const char* end = flags.watch_pid.data() + flags.watch_pid.size();
    const auto [stop, error] = std::from_chars(flags.watch_pid.data(), end, pid);
    if (error != std::errc() || stop != end || pid <= 0)
        return Error{
            Code::invalid,
            fmt::format("--watch takes the number of a process, not \"{}\"", printable(flags.watch_pid)),
            "`freetoken ps` lists the programs that run."};
    WatchFlags watched{.pid = pid, .minutes = flags.minutes, .least_tokens_per_second = {}};
    if (has_min_tps) watched.least_tokens_per_second = flags.min_tps;
    return watch(watched);
}

// A word that does not go with --watch, or goes only with it, would be passed over in silence.
Status check_pairs(const CLI::App& app, const ModelArgument& model) {
    const bool watching = app.count("--watch") > 0;
    const auto alone = [](std::string_view flag) {
        return Error{Code::invalid,
                     fmt::format("doctor: {} says something of --watch, which is not given", flag),
                     "Give --watch PID too, or leave it out."};
    };
    const auto beside = [](std::string_view word) {
        return Error{Code::invalid, fmt::format("doctor: {} does not go with --watch", word),
                     "Leave one of them out."};
    };
    for (const char* flag : {"--minutes", "--min-tps"})
        if (!watching && app.count(flag) > 0) return alone(flag);
    if (watching && app.count("--json") > 0) return beside("--json");
    if (watching && (model.has_argument() || model.has_flag()))
        return beside(model.has_flag() ? "--model" : "a model");
    return {};
}

}  // namespace

Action define_doctor(CLI::App& app) {
    const auto flags = std::make_shared<DoctorFlags>();
    add_model_argument(app, flags->model,
                       "a model to look at too: its GGUF file, or a name of `freetoken list`");
    app.add_flag("--json", flags->json, "print one JSON object");
    const auto* watching = app.add_option("--watch", flags->watch_pid,
                                          "instead: watch a running program; `freetoken ps` has its number")
                               ->type_name("PID");
    app.add_option("--minutes", flags->minutes, "minutes that --watch takes (default: 10)")
        ->type_name("N")
        ->transform(real_number(0.01, 1e5, "minutes"));
    const auto* least = app.add_option("--min-tps", flags->min_tps,
                                       "tok/s that a watched program must keep (default: half of the first "
                                       "minute's)")
                            ->type_name("N")
                            ->transform(real_number(0, 1e9, "tok/s"));
    add_settings_flags(app, flags->settings, "such as memory.swap_dir=FOLDER");
    return [=, &app]() -> Expected<int> {
        if (Status s = check_pairs(app, flags->model); !s) return s.error();
        Sources sources = flags->settings.sources();
        if (const Status named = add_model_to(sources, flags->model); !named)
            return named.error().within("doctor");
        return with_settings(flags->settings, sources, [&](const Settings& settings) {
            return watching->count() > 0 ? watch_process(*flags, least->count() > 0)
                                         : examine(settings, flags->json);
        });
    };
}

}  // namespace ft::cli
