// freetoken ps: the programs that run now (docs/verify.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/size_text.h"
#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/runtime_folder.h"
#include "cli/standard_output.h"
#include "cli/status_file.h"

namespace ft::cli {

namespace {

std::string age_text(int64_t seconds) {
    if (seconds < 120) return fmt::format("{} s", seconds);
    if (seconds < 7200) return fmt::format("{} min", seconds / 60);
    return fmt::format("{} h", seconds / 3600);
}

std::string experts_text(const RunStatus& s) {
    if (s.n_experts == 0) return "none";
    if (s.on_drive == 0) return "all in RAM";
    return fmt::format("{} of {} in RAM", s.ram_slots, s.n_experts);
}

int64_t seconds_now() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

Expected<int> list(bool json) {
    const auto found = running_programs(runtime_folder());
    if (!found) return found.error();
    const std::vector<RunStatus>& programs = *found;
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    std::string text = programs.empty() ? "No program of FreeToken runs.\n"
                                        : fmt::format("{:>8}  {:>8}  {:>10}  {:>10}  {:<22}  {}\n", "PID",
                                                      "FOR", "RAM", "TOK/S", "EXPERTS", "MODEL");
    for (const RunStatus& s : programs) {
        const auto resident = resident_bytes(s.pid);
        const uint64_t ram = resident ? *resident : 0;
        const int64_t age = std::max<int64_t>(0, seconds_now() - s.started);  // the clock may have been set
        text +=
            fmt::format("{:>8}  {:>8}  {:>10}  {:>10}  {:<22}  {}\n", s.pid, age_text(age), size_text(ram),
                        s.generating ? fmt::format("{:.2f}", s.tokens_per_second) : "idle", experts_text(s),
                        printable(s.model));
        rows.push_back(
            {{"pid", s.pid},
             {"seconds", age},
             {"model", s.model},
             {"resident_bytes", ram},
             {"ram_budget", s.ram_budget},
             {"ram_planned", s.ram_planned},
             {"experts", {{"count", s.n_experts}, {"ram_slots", s.ram_slots}, {"on_drive", s.on_drive}}},
             {"prompt_tokens", s.prompt_tokens},
             {"generated_tokens", s.generated_tokens},
             {"tokens_per_second", s.tokens_per_second},
             {"generating", s.generating}});
    }
    if (!programs.empty())
        text += "TOK/S: tokens of answers by the time in which they were written, over the last minute.\n";
    write_out(json ? json_text(rows, 2) : printable_lines(text));
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

}  // namespace

Action define_ps(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "print one JSON array; sizes in bytes");
    return [=] { return list(*json); };
}

}  // namespace ft::cli
