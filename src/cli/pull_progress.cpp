#include "cli/pull_progress.h"

#include "base/log.h"
#include "base/size_text.h"

namespace ft::cli {

namespace {

constexpr Seconds k_rate_window = 10;
constexpr Seconds k_between_points = 0.2;
constexpr Seconds k_least_window = 0.5;
constexpr Seconds k_between_logs = 30;

std::string duration_text(double seconds) {
    if (seconds < 90) return fmt::format("{:.0f} s", seconds);
    if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

void TransferRate::add(Seconds now, uint64_t bytes_so_far) {
    if (!points_.empty() && now - points_.back().at < k_between_points) return;
    if (!points_.empty() && bytes_so_far < points_.back().bytes)
        points_.clear();  // a server without ranges began anew
    points_.push_back({now, bytes_so_far});
    while (points_.size() > 2 && now - points_.front().at > k_rate_window) points_.pop_front();
}

double TransferRate::per_second() const {
    if (points_.size() < 2) return 0;
    const Seconds time = points_.back().at - points_.front().at;
    if (time < k_least_window) return 0;
    return static_cast<double>(points_.back().bytes - points_.front().bytes) / time;
}

std::string transfer_note(uint64_t done, uint64_t total, double per_second) {
    std::string text = fmt::format("{} of {}", size_text(done), size_text(total));
    if (per_second <= 0) return text;
    text += fmt::format(", {:.{}f} MB/s", per_second / 1e6, per_second < 1e7 ? 1 : 0);
    if (done < total)
        text += fmt::format(", {} left", duration_text(static_cast<double>(total - done) / per_second));
    return text;
}

void PullProgress::show(const DownloadProgress& progress) {
    const Seconds now = now_seconds();
    const bool other = !bar_ || progress.checking != last_.checking;
    last_ = progress;
    if (other) bar_.emplace(progress.checking ? "checking" : "downloading");
    if (!progress.checking) rate_.add(now, progress.fetched);
    const double rate = progress.checking ? 0 : rate_.per_second();
    bar_->update(progress.done, progress.total, transfer_note(progress.done, progress.total, rate));
    if (bar_->on_terminal() || progress.checking || now - last_line_ < k_between_logs) return;
    last_line_ = now;
    log("pull", "{}", transfer_note(progress.done, progress.total, rate));
}

}  // namespace ft::cli
