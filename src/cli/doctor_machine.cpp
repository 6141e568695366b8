#include <algorithm>

#include "base/bytes.h"
#include "base/size_text.h"
#include "cli/doctor.h"
#include "device/cgroup.h"
#include "device/cpu.h"
#include "device/drive.h"
#include "device/gpu.h"
#include "device/wsl.h"

namespace ft::cli {

namespace {

constexpr double k_least_gb_per_second = 0.3;  // below that, experts from a drive take too long

bool is_slow(DriveKind kind) {
    return kind == DriveKind::rotating || kind == DriveKind::network || kind == DriveKind::windows;
}

Check cpu_check(const MachineProfile& profile) {
    const CpuFeatures& has = cpu_features();
    std::string sets;
    for (const auto& [there, name] : {std::pair{has.avx2, "AVX2"},
                                      {has.fma, "FMA"},
                                      {has.f16c, "F16C"},
                                      {has.avx512f && has.avx512bw, "AVX-512"},
                                      {has.avx512vnni, "VNNI"}})
        if (there) sets += fmt::format("{}{}", sets.empty() ? "" : ", ", name);
    Check check{.name = "cpu",
                .state = State::ok,
                .value = fmt::format("{}, {} physical cores, {}", cpu_name(), profile.physical_cores,
                                     sets.empty() ? "no vector instructions that are used" : sets),
                .advice = ""};
    if (profile.cpu_read_gb_per_second > 0)
        check.value += fmt::format("; multiplies {:.1f} GB/s of 4-bit weights, {:.0f} GFLOP/s in prompts",
                                   profile.cpu_read_gb_per_second, profile.cpu_gflops);
    if (!has.avx2) {
        check.state = State::warning;
        check.advice = "Without AVX2 the plain kernels compute: expect a tenth of the speed.";
    }
    return check;
}

Check ram_check(const MachineProfile& profile) {
    const auto ram = read_ram();
    if (!ram) return {"ram", State::problem, "unknown", ram.error().sentence()};
    Check check{.name = "ram",
                .state = State::ok,
                .value = fmt::format("{}, {} available, reads {:.1f} GB/s", size_text(ram->total_bytes),
                                     size_text(ram->fillable_bytes()), profile.ram_read_gb_per_second),
                .advice = ""};
    if (ram->fillable_bytes() < ram->total_bytes / 10 * 3) {
        check.state = State::warning;
        check.advice = "Less than 30 % is available: close other programs, or expect fewer experts in RAM.";
    }
    return check;
}

Check swap_check() {
    const std::string text = read_system_file("/proc/meminfo").value_or("");
    const uint64_t total = number_after(text, "SwapTotal:").value_or(0) * k_kib;
    const uint64_t free = number_after(text, "SwapFree:").value_or(0) * k_kib;
    Check check{.name = "swap", .state = State::ok, .value = "none; none is needed", .advice = ""};
    if (total == 0) return check;
    check.value = fmt::format("{}, {} in use", size_text(total), size_text(total - free));
    if (total - free > total / 2) {
        check.state = State::warning;
        check.advice =
            "Programs are being swapped out: close some, since a model whose pages are swapped crawls.";
    }
    return check;
}

Check gpu_check() {
    const std::vector<Gpu> gpus = find_gpus();
    if (gpus.empty()) return {"gpu", State::ok, "none: everything is computed on the processor", ""};
    Check check{.name = "gpu", .state = State::ok, .value = "", .advice = ""};
    for (const Gpu& gpu : gpus) {
        check.value += fmt::format("{}{}", check.value.empty() ? "" : "; ", printable(gpu.name));
        if (gpu.total_bytes > 0)
            check.value +=
                fmt::format(", {}, {} free", size_text(gpu.total_bytes),
                            size_text(gpu.total_bytes - std::min(gpu.total_bytes, gpu.used_bytes)));
        if (!gpu.driver.empty()) check.value += ", driver " + printable(gpu.driver);
        else {
            check.state = State::warning;
            check.advice = "A card has no driver: install it before a version that uses cards.";
        }
    }
    check.value += "; this version computes on the processor";
    return check;
}

}  // namespace

Check drive_check(const Drive& drive, const DriveProfile& profile) {
    const double best = profile.best_gb_per_second();
    Check check{.name = "drive",
                .state = State::ok,
                .value = fmt::format("{}{}, {} ({}), {} free", drive_kind_name(drive.kind),
                                     drive.device.empty() ? "" : " " + drive.device,
                                     drive.file_system.empty() ? "unknown file system" : drive.file_system,
                                     drive.mount_point, size_text(drive.free_bytes)),
                .advice = ""};
    if (drive.read_ahead_kb >= 0) check.value += fmt::format(", read_ahead_kb {}", drive.read_ahead_kb);
    if (best <= 0) {
        check.state = State::warning;
        check.advice = "Its speed could not be measured: name a model on it with --model.";
        return check;
    }
    check.value += fmt::format("; direct reads {:.2f} GB/s, one takes {:.0f} us", best, profile.latency_us);
    if (is_slow(drive.kind) || best < k_least_gb_per_second) {
        check.state = State::warning;
        check.advice =
            drive.kind == DriveKind::windows
                ? "Folders of Windows are slow from WSL2: move the model into the Linux file system."
                : "Experts that RAM cannot hold would come slowly: keep models on an NVMe drive of this "
                  "machine.";
    }
    return check;
}

std::vector<Check> machine_checks(const std::string& path, const MachineProfile& profile) {
    const auto drive = drive_of(path);
    std::vector<Check> checks = {
        cpu_check(profile), ram_check(profile), swap_check(),
        drive ? drive_check(*drive, profile.drive)
              : Check{"drive", State::problem, printable(path), drive.error().sentence()},
        gpu_check()};
    if (is_wsl())
        checks.push_back({"wsl", State::ok, "this is WSL2: keep models inside the Linux file system", ""});
    return checks;
}

Check swap_dir_check(const std::string& folder, const Drive& drive, const ExpertCopy& copy) {
    Check check{"swap_dir", State::ok,
                fmt::format("{}: {}{}, {} free", printable(folder), drive_kind_name(drive.kind),
                            drive.device.empty() ? "" : " " + drive.device, size_text(drive.free_bytes)),
                ""};
    if (!copy.why_not.empty()) check.value += "; nothing is copied there: " + copy.why_not;
    else if (copy.bytes > 0)
        check.value += fmt::format("; a copy of the experts takes {}", size_text(copy.bytes));
    if (is_slow(drive.kind)) {
        check.state = State::warning;
        check.advice = "Choose a folder on an NVMe drive: a slow one would cost seconds for each token.";
    } else if (copy.why_not.empty() && copy.bytes > drive.free_bytes) {
        check.state = State::warning;
        check.advice = fmt::format(
            "{} more must be free there: without them the start is refused, where this drive is "
            "faster than the model's.",
            size_text_up(copy.bytes - drive.free_bytes));
    }
    return check;
}

}  // namespace ft::cli
