#include "text/stop_filter.h"

#include <algorithm>
#include <utility>

namespace ft {

StopFilter::StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {
    std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopFilter::push(std::string_view piece) {
    if (stopped()) return "";
    if (stops_.empty()) return std::string(piece);
    waiting_ += piece;
    if (find_stop()) return std::exchange(waiting_, {});
    const size_t shown = waiting_.size() - held_back();
    std::string out = waiting_.substr(0, shown);
    waiting_.erase(0, shown);
    return out;
}

std::string StopFilter::finish() {
    stop_.clear();
    return std::exchange(waiting_, {});
}

// Cuts waiting_ before the stop text that is complete first.
bool StopFilter::find_stop() {
    size_t begin = std::string::npos, end = std::string::npos;
    for (const std::string& stop : stops_) {
        const size_t at = waiting_.find(stop);
        if (at == std::string::npos) continue;
        const size_t stop_end = at + stop.size();
        if (stop_end > end || (stop_end == end && at >= begin)) continue;
        begin = at;
        end = stop_end;
    }
    if (begin == std::string::npos) return false;
    stop_ = waiting_.substr(begin, end - begin);
    waiting_.erase(begin);
    return true;
}

// The length of the longest end of waiting_ that begins a stop text.
size_t StopFilter::held_back() const {
    size_t longest = 0;
    for (const std::string& stop : stops_) {
        size_t n = std::min(stop.size() - 1, waiting_.size());
        while (n > longest && !waiting_.ends_with(std::string_view(stop).substr(0, n))) n--;
        longest = std::max(longest, n);
    }
    return longest;
}

}  // namespace ft
