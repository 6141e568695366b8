#include "engine/machine_profile.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>

#include "base/log.h"
#include "device/cpu.h"
#include "device/drive.h"
#include "device/foreign_cpu.h"
#include "device/ram_speed.h"
#include "engine/compute_rate.h"

namespace ft {

namespace {

// Together below 3 s, with the time to fill buffers.
constexpr double k_ram_seconds = 0.3, k_cpu_seconds = 0.15, k_drive_seconds = 1.0;
constexpr int k_rounds = 2;  // of the processors' rate, before, between and after the others
constexpr double k_much_foreign_cpu = 0.25;

std::string drive_identity(const std::string& path) {
    const auto drive = drive_of(path);
    return drive ? drive->identity() : "unknown";
}

void add_machine(MachineProfile& profile) {
    profile.physical_cores = physical_cores();
    profile.ram_bytes =
        static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

int64_t seconds_since_1970() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

bool is_whole(const MachineProfile& profile) {
    return !profile.is_doubtful(seconds_since_1970()) && profile.ram_read_gb_per_second > 0 &&
           profile.cpu_read_gb_per_second > 0 && profile.cpu_gflops > 0 && !profile.drive.rates.empty();
}

// A model's own file where it is long enough; else a file written for the purpose beside it, or in the cache
// folder.
DriveProfile drive_speed(const std::string& path, const std::string& cache) {
    std::error_code failed;
    if (std::filesystem::is_regular_file(path, failed)) {
        const auto profile = measure_drive(path, k_drive_seconds);
        if (profile) return *profile;
    }
    const std::string folder = std::filesystem::is_directory(path, failed)
                                   ? path
                                   : std::filesystem::absolute(path, failed).parent_path().string();
    for (const std::string& place : {cache, folder}) {
        if (place.empty() || drive_identity(place) != drive_identity(path)) continue;
        const auto profile = measure_drive_of_folder(place, k_drive_seconds);
        if (profile) return *profile;
        log("plan", "the drive was not measured: {}", profile.error().sentence());
    }
    return {};
}

void measure_missing(const std::string& path, const std::string& cache, MachineProfile& profile) {
    const int cores = physical_cores();
    const ForeignCpu watch;
    const bool no_rate = profile.cpu_read_gb_per_second <= 0 || profile.cpu_gflops <= 0;
    std::optional<ComputeBench> compute;
    if (no_rate)
        if (auto made = ComputeBench::create(cores)) compute.emplace(std::move(*made));
    const auto measure_compute = [&] {
        for (int i = 0; compute && i < k_rounds; i++) compute->measure(k_cpu_seconds);
    };
    measure_compute();
    if (profile.ram_read_gb_per_second <= 0)
        profile.ram_read_gb_per_second = measure_ram_read(cores, k_ram_seconds);
    measure_compute();
    if (profile.drive.rates.empty()) profile.drive = drive_speed(path, cache);
    measure_compute();
    if (compute) {
        profile.cpu_read_gb_per_second = compute->rate().read_gb_per_second;
        profile.cpu_gflops = compute->rate().gflops;
    }
    profile.foreign_cpu = std::max(0.0, watch.share());
    profile.measured_at = seconds_since_1970();
    if (profile.foreign_cpu > k_much_foreign_cpu)
        log("plan",
            "other programs used {:.0f} % of the processors meanwhile: the rates are too low, and will be "
            "measured again",
            100 * profile.foreign_cpu);
}

}  // namespace

std::optional<MachineProfile> known_machine_profile(const std::string& path) {
    const std::string cache = cache_folder();
    if (cache.empty()) return std::nullopt;
    MachineProfile profile = read_profile(cache, hardware_key(), drive_identity(path));
    if (!is_whole(profile)) return std::nullopt;
    add_machine(profile);
    return profile;
}

MachineProfile machine_profile(const std::string& path, const std::function<void()>& on_measure) {
    if (const auto known = known_machine_profile(path)) {
        static std::atomic_flag said;  // a start may ask for the drives of the model and of memory.swap_dir
        if (known->foreign_cpu > k_much_foreign_cpu && !said.test_and_set())
            log("plan",
                "this machine was measured while other programs used {:.0f} % of its processors: speeds are "
                "too low until it is measured again, ten minutes later; removing {} does it now",
                100 * known->foreign_cpu, cache_folder());
        return *known;
    }
    const std::string cache = cache_folder(), hardware = hardware_key(), drive = drive_identity(path);
    MachineProfile profile = cache.empty() ? MachineProfile{} : read_profile(cache, hardware, drive);
    if (profile.is_doubtful(seconds_since_1970())) profile = {};
    add_machine(profile);
    if (on_measure) on_measure();
    std::error_code ignored;
    if (!cache.empty()) std::filesystem::create_directories(cache, ignored);
    measure_missing(path, cache, profile);
    if (cache.empty()) return profile;
    if (const Status s = write_profile(cache, hardware, drive, profile); !s)
        log("plan", "the machine's profile was not kept: {}", s.error().sentence());
    return profile;
}

}  // namespace ft
