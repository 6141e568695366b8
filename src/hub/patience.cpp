#include "hub/patience.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "hub/http_client.h"

namespace ft {

namespace {

constexpr Seconds k_longest_pause = 30;
constexpr long k_longest_asked_pause = 120;  // seconds; whoever asks for more is asked again by the user
constexpr auto k_nap = std::chrono::milliseconds(20);

}  // namespace

Tries::Tries(std::string url, Patience patience, std::function<bool()> stop)
    : url_(std::move(url)), patience_(std::move(patience)), stop_(std::move(stop)) {}

NextTry Tries::after(const HttpReply& reply) {
    if (!may_pass(reply) || failures_ >= patience_.retries || reply.retry_after > k_longest_asked_pause)
        return NextTry::never;
    const Seconds own =
        std::min(k_longest_pause, patience_.first_pause * static_cast<double>(1 << std::min(failures_, 16)));
    failures_++;
    const Seconds pause = std::max(own, static_cast<Seconds>(reply.retry_after));
    if (patience_.on_pause) patience_.on_pause(http_error(url_, reply).what, pause);
    const auto stopped = [&] { return stop_ && stop_(); };
    for (const Seconds end = now_seconds() + pause; now_seconds() < end;) {
        if (stopped()) return NextTry::stopped;
        std::this_thread::sleep_for(k_nap);
    }
    return stopped() ? NextTry::stopped : NextTry::now;
}

}  // namespace ft
