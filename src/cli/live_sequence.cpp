#include "cli/live_sequence.h"

#include <algorithm>

namespace ft::cli {

void LiveSequence::keep_prefix_of(std::span<const int32_t> ids) {
    const auto differs = std::mismatch(fed_.begin(), fed_.end(), ids.begin(), ids.end()).first;
    auto common = static_cast<size_t>(differs - fed_.begin());
    if (common == ids.size() && common > 0) common--;
    if (common == fed_.size()) return;
    if (common == 0 || !session_->rewind(static_cast<int64_t>(common))) {
        session_->clear();
        common = 0;
    }
    fed_.resize(common);
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
    const Status fed = session_->feed(ids, stop);
    if (session_->n_past() < static_cast<int64_t>(fed_.size())) {  // a failed read emptied the session
        fed_.clear();
        return fed;
    }
    const auto kept =
        static_cast<size_t>(session_->n_past()) - fed_.size();  // fewer than all where it was stopped
    fed_.insert(fed_.end(), ids.begin(),
                ids.begin() + static_cast<std::ptrdiff_t>(std::min(kept, ids.size())));
    return fed;
}

}  // namespace ft::cli
