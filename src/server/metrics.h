// Figures for Prometheus, and for routers that read another server's names. What requests add is kept here;
// the rest is handed in when the text is asked for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "http/http_server.h"
#include "server/request_ring.h"

namespace ft {

// Counts of values by upper bounds.
class Histogram {
 public:
    explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
    void observe(double value);

    std::span<const double> bounds() const { return bounds_; }
    uint64_t below(size_t bound) const;  // values of at most bounds()[bound]
    uint64_t count() const { return count_; }
    double sum() const { return sum_; }

 private:
    std::span<const double> bounds_;
    std::vector<uint64_t> counts_;  // by bound, the last for what is above all
    uint64_t count_ = 0;
    double sum_ = 0;
};

struct MetricsNow {
    std::string model = {};
    bool ready = false;
    double uptime_seconds = 0;
    SchedulerCounters scheduler = {};
    HttpCounters http = {};
    int64_t block_tokens = 0;  // of a page of the KV cache
};

// Owner: one thread.
class Metrics {
 public:
    Metrics();

    void observe(const RequestNote& note);  // that is over
    void observe_token_gap(Seconds seconds);
    void refused(int status) { refused_[status]++; }

    std::string text(const MetricsNow& now) const;  // text/plain; version=0.0.4

 private:
    std::map<std::string, uint64_t> finished_;  // by reason
    std::map<int, uint64_t> refused_;           // by status
    uint64_t expert_hits_ = 0, expert_misses_ = 0, expert_bytes_ = 0;
    uint64_t asked_tokens_ = 0, cached_tokens_ = 0;  // of prompts
    Histogram queue_, first_token_, prefill_, decode_, whole_, gap_;
};

}  // namespace ft
