#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/terminal.h"

namespace ft::cli {

namespace {

constexpr Seconds k_patience = 1.0;  // shorter work shows nothing
constexpr Seconds k_between_draws = 0.1;
constexpr int k_bar_width = 30;

}  // namespace

std::string progress_line(const std::string& what, uint64_t done, uint64_t total) {
    const double share =
        total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const int filled = static_cast<int>(share * k_bar_width);
    return fmt::format("{} [{}{}] {:3.0f} %", what, std::string(static_cast<size_t>(filled), '#'),
                       std::string(static_cast<size_t>(k_bar_width - filled), ' '), share * 100);
}

std::string time_left(Seconds spent, uint64_t done, uint64_t total) {
    if (done == 0 || done >= total || spent < k_patience) return "";
    const double left = spent * static_cast<double>(total - done) / static_cast<double>(done);
    if (left < 90) return fmt::format(", {:.0f} s left", left);
    if (left < 5400) return fmt::format(", {:.0f} min left", left / 60);
    return fmt::format(", {:.1f} h left", left / 3600);
}

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)),
      on_terminal_(isatty(STDERR_FILENO) == 1 && !is_dumb_terminal()),
      started_(now_seconds()) {}

void ProgressBar::update(uint64_t done, uint64_t total, const std::string& note) {
    if (!on_terminal_) return;
    const Seconds now = now_seconds();
    if (now - started_ < k_patience || now - last_drawn_ < k_between_draws) return;
    last_drawn_ = now;
    drawn_ = true;
    std::fprintf(stderr, "\r%s%s\x1b[K", progress_line(what_, done, total).c_str(),
                 note.empty() ? "" : ("  " + note).c_str());
    std::fflush(stderr);
}

ProgressBar::~ProgressBar() {
    if (!drawn_) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
}

}  // namespace ft::cli
