// freetoken doctor: what this machine has, what a model's file is worth, and whether a running program stays
// well (docs/verify.md).
#include "cli/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/model_name.h"
#include "cli/numbers.h"
#include "cli/plan_settings.h"
#include "cli/standard_output.h"
#include "config/settings.h"
#include "device/cpu.h"
#include "engine/machine_profile.h"
#include "engine/model_shape.h"
#include "kernels/kernels.h"

namespace ft::cli {

namespace {

using Json = nlohmann::ordered_json;

struct DoctorFlags {
    std::string model, config_path, watch_pid;
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
Expected<std::optional<ModelShape>> look_at_model(const std::string& path, std::vector<Check>& checks) {
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
        return std::optional(model_shape(*file, **model, KvTypes{}, **kernels, physical_cores()));
    }
    const bool told =
        std::any_of(checks.begin(), checks.end(), [](const Check& c) { return c.state == State::problem; });
    if (!told) checks.push_back({"tensors", State::problem, "incomplete", model.error().sentence()});
    return std::optional<ModelShape>();
}

Expected<Settings> settings_of(const DoctorFlags& flags) {
    Sources sources;
    if (!flags.config_path.empty()) sources.config_path = flags.config_path;
    sources.environment = process_environment();
    return load_settings(sources);
}

Expected<int> examine(const DoctorFlags& flags) {
    const auto settings = settings_of(flags);
    if (!settings) return settings.error();
    std::string path = flags.model;
    if (path.empty() && settings->has("model.path")) path = settings->text("model.path");
    Report report;
    std::vector<Check> model_rows;
    std::optional<ModelShape> shape;
    if (!path.empty()) {
        auto found = model_path(path, *settings);
        if (!found) return found.error();
        path = std::move(*found);
        auto looked = look_at_model(path, model_rows);
        if (!looked) return looked.error();
        shape = std::move(*looked);
    }
    const auto ram = read_ram();
    if (!ram) return ram.error();
    const std::string where = path.empty() ? "." : path;
    report.profile =
        machine_profile(where, [] { log("doctor", "measuring this machine once, for about 2 s"); });
    report.checks = machine_checks(where, report.profile);
    if (settings->has("memory.swap_dir"))
        report.checks.push_back(swap_dir_check(settings->text("memory.swap_dir")));
    report.checks.insert(report.checks.end(), model_rows.begin(), model_rows.end());
    const Machine machine{.ram_total = ram->total_bytes, .ram_available = ram->available_bytes, .card = {}};
    if (path.empty() || shape)
        report.bottleneck = bottleneck_of(machine, shape ? *shape : example_shape(),
                                          plan_settings({path, *settings, 0}), report.profile);
    write_out(flags.json ? json_text(report_json(report), 2) : printable_lines(report_text(report)));
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

}  // namespace

Action define_doctor(CLI::App& app) {
    const auto flags = std::make_shared<DoctorFlags>();
    app.add_option("--model", flags->model, "look at this model too: its file, or a name of `list`")
        ->type_name("FILE");
    app.add_option("--config", flags->config_path, "settings from a YAML file: model.path, memory.swap_dir")
        ->type_name("FILE");
    app.add_flag("--json", flags->json, "one JSON object");
    const auto* watching =
        app.add_option("--watch", flags->watch_pid, "watch a running program instead")->type_name("PID");
    app.add_option("--minutes", flags->minutes, "how long to watch (10)")
        ->type_name("N")
        ->transform(real_number(0.01, 1e5));
    const auto* least = app.add_option("--min-tps", flags->min_tps,
                                       "tok/s that a watched program must keep (half of the first minute's)")
                            ->type_name("N")
                            ->transform(real_number(0, 1e9));
    return [=]() -> Expected<int> {
        return watching->count() > 0 ? watch_process(*flags, least->count() > 0) : examine(*flags);
    };
}

}  // namespace ft::cli
