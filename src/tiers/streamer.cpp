#include "tiers/streamer.h"

namespace ft {

namespace {

constexpr uint64_t k_most_bytes_in_flight = 128 << 20;

}  // namespace

Streamer::Streamer(std::unique_ptr<ReadQueue> queue, size_t most_in_line)
    : queue_(std::move(queue)), under_way_(k_most_reads) {
    for (size_t i = 0; i < k_most_reads; i++) free_.push_back(i);
    needed_.reserve(most_in_line);
    guessed_.reserve(most_in_line);
    starting_.reserve(k_most_reads);
}

void Streamer::start() {
    starting_.clear();
    const Seconds now = now_seconds();
    for (Fifo<Read>* line : {&needed_, &guessed_})
        while (!line->empty() && queue_->in_flight() + starting_.size() < k_most_reads &&
               bytes_in_flight_ < k_most_bytes_in_flight) {
            starting_.push_back(line->front());
            under_way_[free_.back()] = {line->front().tag, now, wait_seconds_};
            starting_.back().tag = free_.back();
            free_.pop_back();
            bytes_in_flight_ += line->front().to.size();
            bytes_read_ += line->front().to.size();
            line->pop();
        }
    if (starting_.empty()) return;
    if (queue_->in_flight() == 0) reading_since_ = now;
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
    if (done.size() == before) return;
    const Seconds now = now_seconds();
    for (size_t i = before; i < done.size(); i++) {
        const UnderWay& read = under_way_[done[i].tag];
        bytes_in_flight_ -= done[i].bytes;
        bytes_waited_for_ +=
            static_cast<double>(done[i].bytes) * (wait_seconds_ - read.waited) / (now - read.begun);
        free_.push_back(done[i].tag);
        done[i].tag = read.tag;
    }
    if (was_reading && queue_->in_flight() == 0) read_seconds_ += now - reading_since_;
    start();
}

std::vector<uint64_t> Streamer::cancel() {
    std::vector<uint64_t> tags;
    for (Fifo<Read>* line : {&needed_, &guessed_}) {
        for (const Read& read : *line) tags.push_back(read.tag);
        line->clear();
    }
    return tags;
}

}  // namespace ft
