// Lines of a log on their way to a descriptor that may not be read: a stopped terminal, a pipe whose reader
// waits. Whoever logs never waits; what finds no room is dropped, and counted in a line of its own.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace ft {

class LogQueue {
 public:
    static constexpr size_t k_most_bytes = size_t{1} << 20;  // that wait

    // fd must stay open until all is written. Throws std::system_error where there is no thread for it.
    explicit LogQueue(int fd);
    ~LogQueue();  // waits for nothing; the thread writes what it can, and ends
    LogQueue(const LogQueue&) = delete;
    LogQueue& operator=(const LogQueue&) = delete;

    // One line with its line break; the time of now is put before it. Any thread.
    void push(std::string_view line);
    // Whether all that was pushed is written; waits for it so long.
    bool written_within(Seconds most);

 private:
    struct State;
    static void write_lines(const std::shared_ptr<State>& state);

    const std::shared_ptr<State> state_;  // the thread's too, which may outlive this in a write that waits
};

// "[2026-01-31T12:34:56.789Z] ", in UTC.
std::string log_time(std::chrono::system_clock::time_point time);

}  // namespace ft
