#include "base/log_queue.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

#include "base/signals_blocked.h"
#include "base/thread_name.h"

namespace ft {

namespace {

constexpr int k_full_ms = 1000;  // between two looks at a descriptor that takes nothing and does not wait

// How much of `bytes` was not written: all that follows a failure.
size_t left_of(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            pollfd room{fd, POLLOUT, 0};
            ::poll(&room, 1, k_full_ms);
        } else if (n == 0 || errno != EINTR) break;
    }
    return bytes.size();
}

uint64_t lines_of(std::string_view bytes) {
    return static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

}  // namespace

struct LogQueue::State {
    explicit State(int descriptor) : fd(descriptor) {}

    const int fd;
    std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::string waiting;
    uint64_t dropped = 0;  // lines, since the last that said so
    bool writing = false, stop = false;
};

std::string log_time(std::chrono::system_clock::time_point time) {
    using std::chrono::milliseconds;
    const auto all = std::chrono::floor<milliseconds>(time.time_since_epoch()).count();
    const auto seconds = static_cast<std::time_t>(all / 1000);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[40];
    const size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    return fmt::format("[{}.{:03}Z] ", std::string_view(text, n), all % 1000);
}

LogQueue::LogQueue(int fd) : state_(std::make_shared<State>(fd)) {
    const SignalsBlocked blocked;
    std::thread([state = state_] { write_lines(state); }).detach();
}

LogQueue::~LogQueue() {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
}

void LogQueue::push(std::string_view line) {
    const std::string time = log_time(std::chrono::system_clock::now());
    State& s = *state_;
    const std::lock_guard lock(s.mutex);
    if (s.waiting.size() + time.size() + line.size() > k_most_bytes) {
        s.dropped++;
        return;
    }
    (s.waiting += time) += line;
    s.changed.notify_all();
}

bool LogQueue::written_within(Seconds most) {
    State& s = *state_;
    std::unique_lock lock(s.mutex);
    return s.changed.wait_for(lock, std::chrono::duration<double>(most),
                              [&] { return s.waiting.empty() && !s.writing; });
}

void LogQueue::write_lines(const std::shared_ptr<State>& state) {
    name_this_thread("ft-log");
    State& s = *state;
    std::unique_lock lock(s.mutex);
    for (;;) {
        s.changed.wait(lock, [&] { return s.stop || !s.waiting.empty(); });
        if (s.waiting.empty()) return;
        std::string lines = std::exchange(s.waiting, {});
        const uint64_t dropped = std::exchange(s.dropped, 0);
        s.writing = true;
        lock.unlock();
        const size_t left = left_of(s.fd, lines);
        uint64_t lost = lines_of(std::string_view(lines).substr(lines.size() - left));
        if (dropped > 0) {
            const std::string said =
                fmt::format("{}[warn] {} lines of the log were dropped, because nobody read it\n",
                            log_time(std::chrono::system_clock::now()), dropped);
            if (left > 0 || left_of(s.fd, said) > 0) lost += dropped;
        }
        lock.lock();
        s.dropped += lost;
        s.writing = false;
        s.changed.notify_all();
    }
}

}  // namespace ft
