#include "sample/dry.h"

#include <algorithm>

#include "base/double_math.h"

namespace ft {

namespace {

constexpr double k_largest_log = 69;  // penalties up to 1e30: beyond that a logit cannot matter

}  // namespace

Dry::Dry(DryParams params) : params_(std::move(params)) {
    if (params_.multiplier == 0) params_.last_n = 0;
}

void Dry::accept(int32_t id) {
    if (params_.last_n == 0) return;
    const auto window = static_cast<size_t>(std::max(params_.last_n, 0));
    if (window > 0 && history_.size() >= 2 * window)
        history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(window));
    history_.push_back(id);
}

bool Dry::breaks(int32_t id) const {
    return std::binary_search(params_.breakers.begin(), params_.breakers.end(), id);
}

uint32_t Dry::tokens_since_breaker(std::span<const int32_t> recent) const {
    uint32_t n = 0;
    while (n < recent.size() && !breaks(recent[recent.size() - 1 - n])) n++;
    return n;
}

// The Z algorithm on the tokens read backwards: common_[i] is how many tokens before (and with) the one that
// lies i before the last are the same as the last ones.
void Dry::find_repeats(std::span<const int32_t> recent, uint32_t most) {
    const size_t n = recent.size();
    const auto back = [&](size_t i) { return recent[n - 1 - i]; };
    common_.assign(n, 0);
    repeats_.clear();
    size_t left = 0, right = 0;  // the stretch [left, right) is known to be the same as [0, right - left)
    for (size_t i = 1; i < n; i++) {
        size_t length = i < right ? std::min<size_t>(common_[i - left], right - i) : 0;
        while (i + length < n && back(length) == back(i + length)) length++;
        if (i + length > right) left = i, right = i + length;
        common_[i] = static_cast<uint32_t>(length);
        const uint32_t repeated = std::min(common_[i], most);
        if (repeated >= static_cast<uint32_t>(params_.allowed_length))
            repeats_.push_back({back(i - 1), repeated});
    }
    std::sort(repeats_.begin(), repeats_.end(), [](const Repeat& a, const Repeat& b) {
        return a.id < b.id || (a.id == b.id && a.length > b.length);
    });
    const auto same = [](const Repeat& a, const Repeat& b) { return a.id == b.id; };
    repeats_.erase(std::unique(repeats_.begin(), repeats_.end(), same), repeats_.end());
}

void Dry::apply(std::span<float> logits) {
    std::span<const int32_t> recent = history_;
    if (params_.last_n > 0)
        recent = recent.last(std::min(recent.size(), static_cast<size_t>(params_.last_n)));
    const uint32_t most = tokens_since_breaker(recent);
    if (params_.last_n == 0 || most < static_cast<uint32_t>(params_.allowed_length)) return;
    find_repeats(recent, most);
    const double log_base = log_f64(static_cast<double>(params_.base));
    for (const Repeat& repeat : repeats_) {
        if (repeat.id < 0 || static_cast<size_t>(repeat.id) >= logits.size() || breaks(repeat.id)) continue;
        const double over = repeat.length - static_cast<double>(params_.allowed_length);
        logits[static_cast<size_t>(repeat.id)] -= static_cast<float>(
            static_cast<double>(params_.multiplier) * exp_f64(std::min(over * log_base, k_largest_log)));
    }
}

}  // namespace ft
