// The profile as a JSON file: one machine, several drives.
//   {"version": 3, "hardware": "...", "ram_read": 20.1, "cpu_read": 9.8, "cpu_gflops": 130, "foreign_cpu":
//   0.01,
//    "measured_at": 1790000000,
//    "drives": {"nvme0n1 ..., 512 bytes": {"latency_us": 80, "rates": [[65536, 1, 0.5], ...]}}}
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/read_text.h"
#include "device/cpu.h"
#include "device/profile.h"

namespace ft {

namespace {

using Json = nlohmann::json;

constexpr int k_version = 3;  // 1: reads into small pages; 2: into memory that a cache holds
constexpr size_t k_most_bytes = 1 << 20;

std::string file_of(const std::string& folder) { return folder + "/machine-profile.json"; }

// The file's content where it is of this machine and has the form; an empty object otherwise.
Json read_file(const std::string& folder, const std::string& hardware) {
    const auto text = read_kept_text(file_of(folder), k_most_bytes);
    if (!text) return Json::object();
    Json json = Json::parse(*text, nullptr, false);
    if (!json.is_object() || json.value("/version"_json_pointer, Json()) != Json(k_version) ||
        json.value("/hardware"_json_pointer, Json()) != Json(hardware))
        return Json::object();
    return json;
}

double rate(const Json& json, const char* key) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number()) return 0;
    const double value = found->get<double>();
    return value > 0 && value < 1e9 ? value : 0;
}

DriveProfile drive_in(const Json& json, const std::string& name) {
    const auto drives = json.find("drives");
    if (drives == json.end() || !drives->is_object() || !drives->contains(name)) return {};
    const Json& one = (*drives)[name];
    if (!one.is_object() || !one.contains("rates") || !one["rates"].is_array()) return {};
    DriveProfile drive{.rates = {}, .latency_us = rate(one, "latency_us")};
    for (const Json& row : one["rates"]) {
        const bool is_row = row.is_array() && row.size() == 3 && row[0].is_number_unsigned() &&
                            row[1].is_number_unsigned() && row[2].is_number();
        if (!is_row || row[2].get<double>() <= 0) return {};
        drive.rates.push_back({row[0].get<uint64_t>(), row[1].get<int>(), row[2].get<double>()});
    }
    return drive;
}

Json drive_json(const DriveProfile& drive) {
    Json rates = Json::array();
    for (const DriveRate& r : drive.rates) rates.push_back({r.read_bytes, r.depth, r.gb_per_second});
    return {{"latency_us", drive.latency_us}, {"rates", rates}};
}

Error cannot_write(const std::string& path, int error_number) {
    return Error{
        Code::io,
        fmt::format("{}: cannot write: {}", printable(path), std::generic_category().message(error_number)),
        "The machine will be measured again next time."};
}

// Under a temporary name beside it, then renamed: a reader sees the old file or the new one.
Status replace_file(const std::string& path, const std::string& text) {
    std::string beside = path + "-XXXXXX";
    const int fd = ::mkostemp(beside.data(), O_CLOEXEC);
    if (fd < 0) return cannot_write(path, errno);
    const ssize_t n = ::write(fd, text.data(), text.size());
    const bool whole = n == static_cast<ssize_t>(text.size());
    int error_number = whole ? 0 : n < 0 ? errno : ENOSPC;
    ::close(fd);
    if (whole && std::rename(beside.c_str(), path.c_str()) == 0) return {};
    if (whole) error_number = errno;
    ::unlink(beside.c_str());
    return cannot_write(path, error_number);
}

}  // namespace

std::string hardware_key() {
    const auto pages = static_cast<uint64_t>(std::max(0l, ::sysconf(_SC_PHYS_PAGES)));
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    return fmt::format("{}; {} cores; {} bytes of RAM", cpu_name(), physical_cores(), pages * page);
}

std::string cache_folder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') return std::string(cache) + "/freetoken";
    const char* home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/freetoken" : "";
}

MachineProfile read_profile(const std::string& folder, const std::string& hardware,
                            const std::string& drive) {
    const Json json = read_file(folder, hardware);
    MachineProfile profile;
    profile.ram_read_gb_per_second = rate(json, "ram_read");
    profile.cpu_read_gb_per_second = rate(json, "cpu_read");
    profile.cpu_gflops = rate(json, "cpu_gflops");
    profile.foreign_cpu = rate(json, "foreign_cpu");
    const auto when = json.find("measured_at");
    if (when != json.end() && when->is_number_integer()) profile.measured_at = when->get<int64_t>();
    profile.drive = drive_in(json, drive);
    return profile;
}

Status write_profile(const std::string& folder, const std::string& hardware, const std::string& drive,
                     const MachineProfile& profile) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return cannot_write(folder, failed.value());
    Json json = read_file(folder, hardware);
    json["version"] = k_version;
    json["hardware"] = hardware;
    json["ram_read"] = profile.ram_read_gb_per_second;
    json["cpu_read"] = profile.cpu_read_gb_per_second;
    json["cpu_gflops"] = profile.cpu_gflops;
    json["foreign_cpu"] = profile.foreign_cpu;
    json["measured_at"] = profile.measured_at;
    if (!json.contains("drives") || !json["drives"].is_object()) json["drives"] = Json::object();
    json["drives"][drive] = drive_json(profile.drive);
    return replace_file(file_of(folder), json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace ft
