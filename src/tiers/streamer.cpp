#include "tiers/streamer.h"

namespace ft {

void Streamer::start() {
    starting_.clear();
    while (!waiting_.empty() && queue_->in_flight() + starting_.size() < ReadQueue::k_most_in_flight) {
        starting_.push_back(waiting_.front());
        bytes_read_ += waiting_.front().to.size();
        waiting_.pop_front();
    }
    if (starting_.empty()) return;
    if (queue_->in_flight() == 0) reading_since_ = now_seconds();
    queue_->submit(starting_);
}

void Streamer::collect(std::vector<ReadDone>& done, bool wait) {
    const size_t before = done.size();
    const bool was_reading = queue_->in_flight() > 0;
    queue_->collect(done, false);
    if (wait && done.size() == before) {
        const Seconds begin = now_seconds();
        queue_->collect(done, true);
        wait_seconds_ += now_seconds() - begin;
    }
    if (was_reading && queue_->in_flight() == 0) read_seconds_ += now_seconds() - reading_since_;
    if (done.size() > before) start();
}

std::vector<uint64_t> Streamer::cancel() {
    std::vector<uint64_t> tags;
    for (const Read& read : waiting_) tags.push_back(read.tag);
    waiting_.clear();
    return tags;
}

}  // namespace ft
