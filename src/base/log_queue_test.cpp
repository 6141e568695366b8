#include "base/log_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <regex>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "base/few_threads_for_test.h"

namespace ft {
namespace {

// A pipe, read when the test wants.
class Pipe {
 public:
    Pipe() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
    ~Pipe() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    int in() const { return ends_[1]; }
    void no_reader() {
        ::close(ends_[0]);
        ends_[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    // What is there next; "" where nothing comes.
    std::string some() const {
        pollfd ready{ends_[0], POLLIN, 0};
        char bytes[4096];
        if (::poll(&ready, 1, 20000) != 1) return "";
        const ssize_t n = ::read(ends_[0], bytes, sizeof bytes);
        return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : "";
    }
    // All that comes until `last` is part of it.
    std::string until(const std::string& last) const {
        std::string got;
        while (got.find(last) == std::string::npos) {
            const std::string more = some();
            if (more.empty()) break;
            got += more;
        }
        return got;
    }

 private:
    int ends_[2] = {-1, -1};
};

uint64_t count_of(const std::string& text, const std::string& part) {
    uint64_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
    return n;
}

// What the lines about dropped ones add up to.
uint64_t dropped_in(const std::string& text) {
    uint64_t n = 0;
    const std::regex said(R"(\[warn\] (\d+) lines of the log were dropped)");
    for (std::sregex_iterator at(text.begin(), text.end(), said), end; at != end; ++at)
        n += std::stoull((*at)[1].str());
    return n;
}

TEST(LogQueue, WithoutAThreadSignalsAreAsBefore) {
    sigset_t after;
    {
        const FewThreads none(0);
        EXPECT_THROW(LogQueue(STDERR_FILENO), std::system_error);
    }
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    EXPECT_EQ(sigismember(&after, SIGINT), 0);
}

TEST(LogQueue, LinesCarryTheTimeAndComeInOrder) {
    const Pipe pipe;
    LogQueue queue(pipe.in());
    queue.push("[serve] one\n");
    queue.push("[serve] two\n");
    EXPECT_TRUE(queue.written_within(20));
    const std::string got = pipe.until("two\n");
    const std::string time = R"(\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] )";
    EXPECT_TRUE(std::regex_match(got, std::regex(time + R"(\[serve\] one\n)" + time + R"(\[serve\] two\n)")))
        << got;
}

TEST(LogQueue, TheTimeIsInUtc) {
    using namespace std::chrono;
    EXPECT_EQ(log_time(system_clock::time_point(seconds(1769862896) + milliseconds(7))),
              "[2026-01-31T12:34:56.007Z] ");
}

TEST(LogQueue, NobodyWaitsForAReaderWhoDoesNotRead) {
    constexpr uint64_t k_lines = 40000;  // far more than pipe and queue hold
    const Pipe pipe;
    LogQueue queue(pipe.in());
    const std::string line = "[request] " + std::string(190, 'x') + "\n";
    for (uint64_t i = 0; i < k_lines; i++) queue.push(line);  // returns, although nothing is read
    EXPECT_FALSE(queue.written_within(0));
    // Each line comes or is counted; how often that is said depends on when the writing thread had its turns.
    std::string got;
    while (count_of(got, "[request]") + dropped_in(got) < k_lines) {
        const std::string more = pipe.some();
        ASSERT_NE(more, "") << count_of(got, "[request]") << " lines and " << dropped_in(got) << " dropped";
        got += more;
    }
    EXPECT_EQ(count_of(got, "[request]") + dropped_in(got), k_lines);
    EXPECT_GT(dropped_in(got), 0u);
    EXPECT_TRUE(queue.written_within(20));
    queue.push("[serve] later\n");
    EXPECT_EQ(count_of(pipe.until("later\n"), "dropped"), 0u);
}

TEST(LogQueue, LinesThatCannotBeWrittenAreCountedInALaterOne) {
    std::signal(SIGPIPE, SIG_IGN);
    Pipe pipe;
    pipe.no_reader();
    LogQueue queue(pipe.in());
    for (int i = 0; i < 3; i++) queue.push("[serve] lost\n");
    EXPECT_TRUE(queue.written_within(20)) << "a failed write is over";
    const Pipe other;
    ASSERT_EQ(::dup2(other.in(), pipe.in()), pipe.in());
    queue.push("[serve] later\n");
    const std::string got = other.until("dropped, because nobody read it\n");
    EXPECT_NE(got.find("[serve] later\n"), std::string::npos);
    EXPECT_NE(got.find("[warn] 3 lines"), std::string::npos) << got;
}

}  // namespace
}  // namespace ft
