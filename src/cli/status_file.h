// What a running program says of itself: a small file in the user's runtime folder, which `freetoken ps`
// lists and `freetoken doctor --watch` samples.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "cli/token_rate.h"
#include "engine/engine.h"

namespace ft::cli {

struct RunStatus {
    int64_t pid = 0;
    int64_t process_start = 0;  // clock ticks since boot: tells a process from a later one of the same number
    int64_t started = 0;        // seconds since 1970
    std::string model;
    uint64_t ram_budget = 0, ram_planned = 0;  // bytes
    uint64_t ram_margin = 0;                   // bytes of RAM that others are to keep
    int64_t n_experts = 0, ram_slots = 0, on_drive = 0;
    uint64_t prompt_tokens = 0, generated_tokens = 0;
    double tokens_per_second = 0;  // of the last minute: generated, by the time of their steps
    bool generating = false;       // a token within the last seconds
};

// Of the programs that still run; files of those that ended without removing theirs are removed. By rising
// pid. An error where the folder is not this user's own (cli/runtime_folder.h); so in the next.
Expected<std::vector<RunStatus>> running_programs(const std::string& folder);
// Nothing to read: the program keeps no file. An error: no such process.
Expected<std::unique_ptr<RunStatus>> status_of(const std::string& folder, int64_t pid);

// Bytes of RAM that a process holds; an error: no such process.
Expected<uint64_t> resident_bytes(int64_t pid);

// Writes the file about once a second while it lives, and removes it. A folder that cannot be written costs
// one line of log: the program runs without.
class StatusFile {
 public:
    StatusFile(std::string folder, RunStatus status, std::shared_ptr<const EngineActivity> activity);
    ~StatusFile();
    StatusFile(const StatusFile&) = delete;
    StatusFile& operator=(const StatusFile&) = delete;

 private:
    Status write() const;
    void sample();
    void keep_writing(const std::stop_token& stop);

    const std::string folder_;
    RunStatus status_;
    const std::shared_ptr<const EngineActivity> activity_;
    TokenRate rate_;
    uint64_t generating_us_ = 0;  // at the last look
    int idle_seconds_ = 0;
    std::jthread thread_;
};

}  // namespace ft::cli
