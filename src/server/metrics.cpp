#include "server/metrics.h"

#include <algorithm>

namespace ft {

namespace {

constexpr std::array k_request_bounds = {0.005, 0.01, 0.025, 0.05, 0.1,  0.25,  0.5,   1.0,   2.5,
                                         5.0,   10.0, 20.0,  40.0, 80.0, 160.0, 640.0, 2560.0};
constexpr std::array k_token_bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
                                       0.15,  0.2,    0.3,   0.5,  1.0,   2.5,  10.0};

// A value inside the quotes of a label.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out;
}

// Lines of the exposition format.
class Exposition {
 public:
    explicit Exposition(const std::string& model)
        : model_(fmt::format("model_name=\"{}\"", escaped(model))) {}

    void family(std::string_view name, std::string_view type, std::string_view help) {
        text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
        name_ = name;
    }
    void sample(double value, std::string_view labels = "") { line("", value, labels); }
    void one(std::string_view name, std::string_view type, std::string_view help, double value) {
        family(name, type, help);
        sample(value);
    }
    void histogram(std::string_view name, std::string_view help, const Histogram& of) {
        family(name, "histogram", help);
        for (size_t i = 0; i < of.bounds().size(); i++)
            line("_bucket", static_cast<double>(of.below(i)), fmt::format("le=\"{}\"", of.bounds()[i]));
        line("_bucket", static_cast<double>(of.count()), "le=\"+Inf\"");
        line("_sum", of.sum(), "");
        line("_count", static_cast<double>(of.count()), "");
    }
    std::string take() { return std::move(text_); }

 private:
    void line(std::string_view suffix, double value, std::string_view labels) {
        text_ += fmt::format("{}{}{{{}{}{}}} {}\n", name_, suffix, model_, labels.empty() ? "" : ",", labels,
                             value);
    }
    const std::string model_;
    std::string name_, text_;
};

double as_double(uint64_t value) { return static_cast<double>(value); }

// What sequences have: pages of the prefix cache are given back when they are needed.
double kv_share(const SchedulerCounters& s) {
    const uint64_t busy = s.pages_used > s.pages_cached ? s.pages_used - s.pages_cached : 0;
    return s.pages > 0 ? as_double(busy) / as_double(s.pages) : 0;
}

void write_state(Exposition& out, const MetricsNow& now) {
    const SchedulerCounters& s = now.scheduler;
    out.one("freetoken_ready", "gauge", "1 where the model is loaded", now.ready ? 1 : 0);
    out.one("freetoken_uptime_seconds", "gauge", "since the start of the program", now.uptime_seconds);
    out.one("freetoken_requests_running", "gauge", "sequences that are computed", s.running);
    out.one("freetoken_requests_waiting", "gauge", "requests in the queue", s.waiting);
    out.one("freetoken_prompt_tokens_total", "counter", "tokens of prompts that were read",
            as_double(s.prompt_tokens));
    out.one("freetoken_generated_tokens_total", "counter", "tokens that were generated",
            as_double(s.generated_tokens));
    out.one("freetoken_cached_tokens_total", "counter", "tokens of prompts that were in the prefix cache",
            as_double(s.cached_tokens));
    out.one("freetoken_steps_total", "counter", "steps of the scheduler", as_double(s.steps));
    out.one("freetoken_parked_total", "counter", "sequences that gave up their memory and came back",
            as_double(s.parked));
    out.one("freetoken_kv_pages", "gauge", "pages of the KV cache", as_double(s.pages));
    out.one("freetoken_kv_pages_used", "gauge", "pages with tokens of sequences or of the prefix cache",
            as_double(s.pages_used));
    out.one("freetoken_kv_pages_cached", "gauge", "pages of the prefix cache", as_double(s.pages_cached));
    out.one("freetoken_kv_bytes", "gauge", "bytes of the KV cache", as_double(s.kv_bytes));
}

void write_connections(Exposition& out, const HttpCounters& http) {
    out.one("freetoken_connections", "gauge", "connections that are open", as_double(http.connections));
    out.one("freetoken_connections_total", "counter", "connections since the start",
            as_double(http.accepted));
    out.one("freetoken_connections_refused_total", "counter", "connections beyond server.max_connections",
            as_double(http.over_limit));
    out.one("freetoken_slow_readers_dropped_total", "counter", "clients that did not read their streams",
            as_double(http.dropped));
    out.one("freetoken_http_requests_total", "counter", "requests of any kind", as_double(http.requests));
}

}  // namespace

void Histogram::observe(double value) {
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    counts_[static_cast<size_t>(at - bounds_.begin())]++;
    count_++;
    sum_ += value;
}

uint64_t Histogram::below(size_t bound) const {
    uint64_t sum = 0;
    for (size_t i = 0; i <= bound; i++) sum += counts_[i];
    return sum;
}

Metrics::Metrics()
    : queue_(k_request_bounds),
      first_token_(k_request_bounds),
      prefill_(k_request_bounds),
      decode_(k_request_bounds),
      whole_(k_request_bounds),
      gap_(k_token_bounds) {}

void Metrics::observe(const RequestNote& note) {
    const RequestRecord& r = note.record;
    finished_[note.finish]++;
    expert_hits_ += r.expert_hits;
    expert_misses_ += r.expert_misses;
    expert_bytes_ += r.expert_bytes;
    asked_tokens_ += static_cast<uint64_t>(r.prompt_tokens);
    cached_tokens_ += static_cast<uint64_t>(r.cached_tokens);
    if (r.ttft_ms <= 0) return;  // it never came to a token
    queue_.observe(r.queue_ms / 1e3);
    first_token_.observe(r.ttft_ms / 1e3);
    prefill_.observe(r.prefill_ms / 1e3);
    decode_.observe(r.decode_ms / 1e3);
    whole_.observe((r.queue_ms + r.prefill_ms + r.decode_ms) / 1e3);
}

void Metrics::observe_token_gap(Seconds seconds) { gap_.observe(seconds); }

std::string Metrics::text(const MetricsNow& now) const {
    Exposition out(now.model);
    const SchedulerCounters& s = now.scheduler;
    write_state(out, now);
    out.family("freetoken_requests_total", "counter", "answers that are over");
    for (const auto& [finish, n] : finished_)
        out.sample(as_double(n), fmt::format("finish_reason=\"{}\"", finish));
    out.family("freetoken_refused_total", "counter", "requests that were refused");
    for (const auto& [status, n] : refused_) out.sample(as_double(n), fmt::format("status=\"{}\"", status));
    out.one("freetoken_expert_hits_total", "counter", "uses of experts that were in RAM",
            as_double(expert_hits_));
    out.one("freetoken_expert_misses_total", "counter", "uses of experts that waited for the drive",
            as_double(expert_misses_));
    out.one("freetoken_expert_read_bytes_total", "counter", "bytes of experts read from the drive",
            as_double(expert_bytes_));
    out.histogram("freetoken_queue_seconds", "from a request to its first step", queue_);
    out.histogram("freetoken_time_to_first_token_seconds", "from a request to its first_token", first_token_);
    out.histogram("freetoken_prompt_seconds", "from the first step to the first token", prefill_);
    out.histogram("freetoken_decode_seconds", "from the first token to the end", decode_);
    write_connections(out, now.http);

    // The names that routers and boards made for vLLM read, with the same meaning.
    out.one("vllm:num_requests_running", "gauge", "sequences that are computed", s.running);
    out.one("vllm:num_requests_waiting", "gauge", "requests in the queue", s.waiting);
    out.one("vllm:kv_cache_usage_perc", "gauge", "share of the KV cache's pages in use, 0 to 1", kv_share(s));
    out.family("vllm:cache_config_info", "gauge", "pages of the KV cache and the tokens of one");
    out.sample(1, fmt::format("block_size=\"{}\",num_gpu_blocks=\"{}\"", now.block_tokens, s.pages));
    out.one("vllm:prompt_tokens_total", "counter", "tokens of prompts that were read",
            as_double(s.prompt_tokens));
    out.one("vllm:generation_tokens_total", "counter", "tokens that were generated",
            as_double(s.generated_tokens));
    out.one("vllm:prefix_cache_queries_total", "counter", "tokens of prompts looked up in the prefix cache",
            as_double(asked_tokens_));
    out.one("vllm:prefix_cache_hits_total", "counter", "of these, tokens that were there",
            as_double(cached_tokens_));
    out.histogram("vllm:time_to_first_token_seconds", "from a request to its first token", first_token_);
    out.histogram("vllm:inter_token_latency_seconds", "between two tokens of an answer", gap_);
    out.histogram("vllm:e2e_request_latency_seconds", "from a request to the end of its answer", whole_);
    return out.take();
}

}  // namespace ft
