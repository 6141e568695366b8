#include "base/log.h"

#include <atomic>
#include <cstdio>

#include "base/error.h"
#include "base/log_queue.h"

namespace ft {

namespace {

constexpr size_t k_longest_log_text = 4000;

std::atomic<LogQueue*> g_log_queue{nullptr};

}  // namespace

void log_line(std::string_view area, std::string_view text) {
    const std::string line = fmt::format("[{}] {}\n", area, printable(text, k_longest_log_text));
    if (LogQueue* queue = g_log_queue.load(std::memory_order_acquire)) return queue->push(line);
    std::fwrite(line.data(), 1, line.size(), stderr);  // one call: stdio locks the stream, lines do not mix
    std::fflush(stderr);
}

void log_by_thread(int fd) {
    static LogQueue queue(fd);  // whoever logs at the very end still finds it
    g_log_queue.store(&queue, std::memory_order_release);
}

void finish_log(Seconds most) {
    if (LogQueue* queue = g_log_queue.load(std::memory_order_acquire)) queue->written_within(most);
}

}  // namespace ft
