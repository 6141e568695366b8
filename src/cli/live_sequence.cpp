#include "cli/live_sequence.h"

#include <algorithm>

namespace ft::cli {

void LiveSequence::keep_prefix_of(std::span<const int32_t> ids) {
    const auto differs = std::mismatch(fed_.begin(), fed_.end(), ids.begin(), ids.end()).first;
    auto common = static_cast<size_t>(differs - fed_.begin());
    if (common == ids.size() && common > 0) common--;
    if (common < fed_.size())
        fed_.resize(static_cast<size_t>(session_->rewind(static_cast<int64_t>(common))));
}

Expected<std::string> LiveSequence::load(const std::string& path) {
    auto saved = session_->load(path);
    if (!saved) {
        if (session_->n_past() == 0) fed_.clear();
        return saved.error();
    }
    fed_ = std::move(saved->ids);
    return std::move(saved->note);
}

Status LiveSequence::feed(std::span<const int32_t> ids, const std::atomic<bool>* stop) {
    const int64_t before = keep_at_ - n_past();
    if (before <= 0 || before > static_cast<int64_t>(ids.size())) return feed_part(ids, stop);
    if (Status fed = feed_part(ids.first(static_cast<size_t>(before)), stop); !fed) return fed;
    session_->keep_state();
    const auto rest = ids.subspan(static_cast<size_t>(before));
    return rest.empty() ? Status() : feed_part(rest, stop);
}

Status LiveSequence::feed_part(std::span<const int32_t> ids, const std::atomic<bool>* stop) {
    const Status fed = session_->feed(ids, stop);
    if (session_->n_past() < static_cast<int64_t>(fed_.size())) {  // it went back, or was emptied
        fed_.resize(static_cast<size_t>(session_->n_past()));
        return fed;
    }
    const auto kept =
        static_cast<size_t>(session_->n_past()) - fed_.size();  // fewer than all where it was stopped
    fed_.insert(fed_.end(), ids.begin(),
                ids.begin() + static_cast<std::ptrdiff_t>(std::min(kept, ids.size())));
    return fed;
}

}  // namespace ft::cli
