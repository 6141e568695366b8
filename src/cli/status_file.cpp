#include "cli/status_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/log.h"
#include "base/parse_number.h"
#include "base/read_text.h"
#include "base/system_error.h"
#include "cli/runtime_folder.h"
#include "device/cgroup.h"

namespace ft::cli {

namespace {

namespace fs = std::filesystem;
using StatusJson = nlohmann::json;

constexpr int k_idle_after = 3;  // seconds without a token
constexpr auto k_period = std::chrono::seconds(1);
constexpr size_t k_most_bytes = 64 * 1024;
constexpr double k_most_rate = 1e9;  // tokens per second
constexpr std::string_view k_ending = ".json";
constexpr std::string_view k_new_ending = ".new";  // behind it, until it is whole

std::string file_of(const std::string& folder, int64_t pid) {
    return fmt::format("{}/{}{}", folder, pid, k_ending);
}

// Field 22 of /proc/PID/stat; the name in field 2 may hold blanks and brackets. 0: no such process.
int64_t process_start(int64_t pid) {
    const std::string text = read_system_file(fmt::format("/proc/{}/stat", pid)).value_or("");
    size_t at = text.rfind(')');
    if (at == std::string::npos) return 0;
    for (int field = 2; field < 22; field++) {
        at = text.find(' ', at + 1);
        if (at == std::string::npos) return 0;
    }
    return std::strtoll(text.c_str() + at, nullptr, 10);
}

StatusJson to_json(const RunStatus& s) {
    return {{"pid", s.pid},
            {"process_start", s.process_start},
            {"started", s.started},
            {"model", s.model},
            {"ram_budget", s.ram_budget},
            {"ram_planned", s.ram_planned},
            {"ram_margin", s.ram_margin},
            {"experts", s.n_experts},
            {"ram_slots", s.ram_slots},
            {"on_drive", s.on_drive},
            {"prompt_tokens", s.prompt_tokens},
            {"generated_tokens", s.generated_tokens},
            {"tokens_per_second", s.tokens_per_second},
            {"generating", s.generating}};
}

// False: there is no such number, or it is none that a program writes.
bool take_number(const StatusJson& json, const char* name, int64_t& out) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_unsigned()) return false;
    const uint64_t value = found->get<uint64_t>();
    out = static_cast<int64_t>(value);
    return value <= uint64_t{INT64_MAX};
}

bool take_number(const StatusJson& json, const char* name, uint64_t& out) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_unsigned()) return false;
    out = found->get<uint64_t>();
    return true;
}

bool take_number(const StatusJson& json, const char* name, double& out) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number()) return false;
    out = found->get<double>();
    return out >= 0 && out < k_most_rate;
}

// Nothing where the text is not what a program of this version writes.
std::unique_ptr<RunStatus> from_json(const std::string& text) {
    const StatusJson json = StatusJson::parse(text, nullptr, false);
    if (!json.is_object()) return nullptr;
    auto s = std::make_unique<RunStatus>();
    const auto number = [&](const char* name, auto& out) { return take_number(json, name, out); };
    const bool good = number("pid", s->pid) && number("process_start", s->process_start) &&
                      number("started", s->started) && number("ram_budget", s->ram_budget) &&
                      number("ram_planned", s->ram_planned) && number("ram_margin", s->ram_margin) &&
                      number("experts", s->n_experts) && number("ram_slots", s->ram_slots) &&
                      number("on_drive", s->on_drive) && number("prompt_tokens", s->prompt_tokens) &&
                      number("generated_tokens", s->generated_tokens) &&
                      number("tokens_per_second", s->tokens_per_second);
    const auto model = json.find("model"), generating = json.find("generating");
    if (!good || model == json.end() || !model->is_string() || generating == json.end() ||
        !generating->is_boolean())
        return nullptr;
    s->model = model->get<std::string>();
    s->generating = generating->get<bool>();
    return s;
}

// Of "123.json"; nothing where the name is another.
std::optional<int64_t> pid_of(std::string_view name) {
    if (!name.ends_with(k_ending)) return std::nullopt;
    const auto pid = parse_number<int64_t>(name.substr(0, name.size() - k_ending.size()));
    return pid && *pid > 0 ? pid : std::nullopt;
}

// Links, folders and pipes are not ours to read or to remove.
bool is_regular(const std::string& path) {
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::unique_ptr<RunStatus> read_status(const std::string& path, int64_t pid) {
    const auto text = read_kept_text(path, k_most_bytes);
    auto status = text ? from_json(*text) : nullptr;
    return status && status->pid == pid ? std::move(status) : nullptr;
}

bool still_runs(const RunStatus& s) { return s.pid > 0 && process_start(s.pid) == s.process_start; }

Error no_process(int64_t pid) {
    return Error{Code::not_found, fmt::format("there is no process {}", pid),
                 "`freetoken ps` lists those of FreeToken."};
}

}  // namespace

Expected<std::vector<RunStatus>> running_programs(const std::string& folder) {
    std::vector<RunStatus> programs;
    const auto has = has_own_folder(folder);
    if (!has) return has.error();
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        const std::string path = it->path().string();
        std::string name = it->path().filename().string();
        const bool is_new = name.ends_with(k_new_ending);
        if (is_new) name.resize(name.size() - k_new_ending.size());
        const auto pid = pid_of(name);
        if (!pid || !is_regular(path)) continue;
        if (is_new) {
            if (process_start(*pid) == 0) ::unlink(path.c_str());  // what was killed while it wrote
            continue;
        }
        const auto status = read_status(path, *pid);
        if (status && still_runs(*status)) programs.push_back(std::move(*status));
        else ::unlink(path.c_str());
    }
    std::sort(programs.begin(), programs.end(),
              [](const RunStatus& a, const RunStatus& b) { return a.pid < b.pid; });
    return programs;
}

Expected<std::unique_ptr<RunStatus>> status_of(const std::string& folder, int64_t pid) {
    if (process_start(pid) == 0) return no_process(pid);
    const std::string path = file_of(folder, pid);
    const auto has = has_own_folder(folder);
    if (!has) return has.error();
    auto status = is_regular(path) ? read_status(path, pid) : nullptr;
    if (status && !still_runs(*status)) status.reset();
    return status;
}

Expected<uint64_t> resident_bytes(int64_t pid) {
    const auto text = read_system_file(fmt::format("/proc/{}/statm", pid));
    const size_t blank = text ? text->find(' ') : std::string::npos;
    if (blank == std::string::npos) return no_process(pid);
    const uint64_t pages = std::strtoull(text->c_str() + blank, nullptr, 10);
    return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

StatusFile::StatusFile(std::string folder, RunStatus status, std::shared_ptr<const EngineActivity> activity)
    : folder_(std::move(folder)), status_(std::move(status)), activity_(std::move(activity)) {
    status_.pid = ::getpid();
    status_.process_start = process_start(status_.pid);
    status_.started =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    const Status made = make_own_folder(folder_);
    if (const Status s = made ? write() : made; !s) {
        log("load", "no status file for `freetoken ps`: {}", s.error().sentence());
        return;
    }
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) { keep_writing(stop); });
    } catch (const std::system_error&) {
        log("load", "the system gives no thread that tells `freetoken ps` of this program");
        ::unlink(file_of(folder_, status_.pid).c_str());
    }
}

StatusFile::~StatusFile() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
    ::unlink(file_of(folder_, status_.pid).c_str());
}

void StatusFile::keep_writing(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, k_period, [] { return false; })) {
        if (stop.stop_requested()) return;
        sample();
        if (!write()) return;  // the folder went away, and with it whoever read it
    }
}

void StatusFile::sample() {
    const uint64_t before = status_.generated_tokens;
    status_.prompt_tokens = activity_->prompt_tokens.load(std::memory_order_relaxed);
    status_.generated_tokens = activity_->generated_tokens.load(std::memory_order_relaxed);
    const uint64_t us = activity_->generating_us.load(std::memory_order_relaxed);
    const uint64_t now = status_.generated_tokens - before;
    idle_seconds_ = now > 0 ? 0 : idle_seconds_ + 1;
    status_.generating = status_.generated_tokens > 0 && idle_seconds_ < k_idle_after;
    rate_.add(now, static_cast<double>(us - generating_us_) / 1e6);
    generating_us_ = us;
    status_.tokens_per_second = rate_.per_second();
}

// Beside its name first, then renamed, so that a reader never sees half of it.
Status StatusFile::write() const {
    const std::string path = file_of(folder_, status_.pid), beside = path + std::string(k_new_ending);
    const std::string text =
        to_json(status_).dump(-1, ' ', false, StatusJson::error_handler_t::replace) + "\n";
    const int fd =
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) return system_error(path, "write", errno);
    const ssize_t n = ::write(fd, text.data(), text.size());
    const bool whole = n == static_cast<ssize_t>(text.size());
    int error_number = whole ? 0 : n < 0 ? errno : ENOSPC;
    ::close(fd);
    if (whole && ::rename(beside.c_str(), path.c_str()) == 0) return {};
    if (whole) error_number = errno;
    ::unlink(beside.c_str());
    return system_error(path, "write", error_number);
}

}  // namespace ft::cli
